// Blocks of dense pairs against a naive loop: every reduction, every instruction set of this processor, ragged
// shapes, any block, any number of threads.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "kernels/packing.hpp"
#include "kernels/pairs.hpp"
#include "naive.hpp"
#include "threads/pool.hpp"

#include <chrono>
#include <limits>
#include <numeric>
#include <thread>

using namespace mercer;

template <class T> constexpr double kTolerance = sizeof(T) == 4 ? 2e-6 : 4e-15;

template <class T> static void against_naive(Reduction reduction, Index n, Index m, Index d) {
    check::context = std::string(instruction_set().name) + " " + naive::name(reduction) + " " +
                     std::to_string(8 * sizeof(T)) + " bits, " + std::to_string(n) + " x " + std::to_string(m) + " x " +
                     std::to_string(d);
    const auto x = naive::samples<T>(reduction, n * d, 0.8, 1), z = naive::samples<T>(reduction, m * d, 0.8, 2);
    const auto pairs = bind_dense(naive::dense(x, n, d), naive::dense(z, m, d), Formula{reduction, {}, 0.0}, Frame{});
    const Index stride = m + 3;
    std::vector<T> out(std::size_t(n * stride), T(-7));
    pairs->fill(nullptr, 0, n, 0, m, out.data(), stride);
    for (Index i = 0; i < n; ++i) {
        auto xi = [&](Index k) { return x[std::size_t(i * d + k)]; };
        for (Index j = 0; j < m; ++j) {
            auto zj = [&](Index k) { return z[std::size_t(j * d + k)]; };
            const auto scale = double(naive::size(reduction, d, xi, zj));
            CHECK_CLOSE(out[std::size_t(i * stride + j)], naive::reduce(reduction, d, xi, zj), kTolerance<T>, scale);
        }
        for (Index j = m; j < stride; ++j) CHECK(out[std::size_t(i * stride + j)] == T(-7)); // nothing beside the block
    }
    // Subproblem of it, by positions and by a range, to the last bit.
    const std::vector<Index> index{n - 1, 0, n / 2, n / 2};
    const Index first = m / 3, last = m - m / 5;
    std::vector<T> part(std::size_t(4 * (last - first)));
    pairs->fill(index.data(), 0, 4, first, last, part.data(), last - first);
    for (Index r = 0; r < 4; ++r)
        for (Index j = first; j < last; ++j)
            CHECK(part[std::size_t(r * (last - first) + j - first)] ==
                  out[std::size_t(index[std::size_t(r)] * stride + j)]);
    std::vector<T> one(static_cast<std::size_t>(m));
    pairs->fill(nullptr, n - 1, 1, 0, m, one.data(), m);
    for (Index j = 0; j < m; ++j) CHECK(one[std::size_t(j)] == out[std::size_t((n - 1) * stride + j)]);
}

// k(X, X): symmetric to the last bit, the same for any number of threads, exact on the diagonal.
template <class T> static void symmetric(Reduction reduction, Index n, Index d) {
    check::context =
        std::string(instruction_set().name) + " " + naive::name(reduction) + " symmetric " + std::to_string(n);
    const auto x = naive::samples<T>(reduction, n * d, 0.8, 3);
    const auto source = naive::dense(x, n, d);
    const auto pairs = bind_dense(source, source, Formula{reduction, {}, 0.0}, Frame{});
    std::vector<T> first, whole(std::size_t(n * n));
    for (int threads : {1, 2, 5}) {
        set_thread_count(threads);
        std::vector<T> out(std::size_t(n * n), T(-7));
        pairs->fill_symmetric(out.data(), n);
        if (first.empty()) first = out;
        CHECK(out == first);
        pairs->fill(nullptr, 0, n, 0, n, whole.data(), n);
        CHECK(whole == first);
    }
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < i; ++j) CHECK(first[std::size_t(i * n + j)] == first[std::size_t(j * n + i)]);
        const T own = first[std::size_t(i * n + i)];
        if (reduction == Reduction::squared_distance || reduction == Reduction::squared_direct ||
            reduction == Reduction::l1 || reduction == Reduction::linf || reduction == Reduction::chi2_distance)
            CHECK(own == T(0));
        if (reduction == Reduction::equal) CHECK(own == T(d));
    }
}

// A Gaussian of two distant clusters, and of one sample far from all others: near pairs are repaired.
template <class T> static void distances_after_cancellation(double rate, bool outlier) {
    const Index n = 61, d = 40;
    check::context = std::string(instruction_set().name) + " repair, rate " + std::to_string(rate);
    auto x = naive::samples<T>(Reduction::dot, n * d, 1.0, 5);
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) {
            T& value = x[std::size_t(i * d + k)];
            value = T(value / std::sqrt(double(d)));
            if (outlier && i == 7) value *= T(3e4);
            if (!outlier && i % 2) value += T(3e4);
        }
    std::vector<double> shift(std::size_t(d), 0.0);
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) shift[std::size_t(k)] += double(x[std::size_t(i * d + k)]) / double(n);
    const auto source = naive::dense(x, n, d);
    const std::vector<Step> steps{{Op::affine, -rate, 0.0, {}}, {Op::exp, 1.0, 0.0, {}}};
    const auto pairs =
        bind_dense(source, source, Formula{Reduction::squared_distance, steps, rate}, Frame{shift.data(), nullptr});
    std::vector<T> out(std::size_t(n * n)), alone(static_cast<std::size_t>(n));
    pairs->fill_symmetric(out.data(), n);
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            const auto distance = naive::reduce(
                Reduction::squared_distance, d, [&](Index k) { return x[std::size_t(i * d + k)]; },
                [&](Index k) { return x[std::size_t(j * d + k)]; });
            const auto expected = naive::apply(steps, distance);
            const bool single = sizeof(T) == 4;
            CHECK_CLOSE(out[std::size_t(i * n + j)], expected, single ? 2e-6 : 1e-12,
                        single ? 1.0 : std::max(double(expected), 1e-300));
            CHECK(out[std::size_t(i * n + j)] == out[std::size_t(j * n + i)]);
        }
        CHECK(out[std::size_t(i * n + i)] == T(1));
        pairs->fill(nullptr, i, 1, 0, n, alone.data(), n);
        CHECK(std::equal(alone.begin(), alone.end(), out.begin() + i * n));
    }
}

// Strided and reversed memory, and the affine map applied while packing.
template <class T> static void memory_and_frame() {
    check::context = "memory order and frame";
    const Index n = 37, d = 19;
    const auto x = naive::samples<T>(Reduction::dot, n * d, 1.0, 7);
    std::vector<T> wide(std::size_t(n * d * 6), T(99)), framed(x);
    std::vector<double> shift(std::size_t(d), 0.0), scale(std::size_t(d), 0.0);
    for (Index k = 0; k < d; ++k) {
        shift[std::size_t(k)] = 0.25 * double(k);
        scale[std::size_t(k)] = 1.0 + 0.5 * double(k % 3);
    }
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) {
            T& value = framed[std::size_t(i * d + k)];
            value = T((double(value) - shift[std::size_t(k)]) * scale[std::size_t(k)]);
            wide[std::size_t((n - 1 - i) * 2 * d * 3 + (d - 1 - k) * 3)] = x[std::size_t(i * d + k)];
        }
    Source<T> reversed = naive::dense(wide, n, d);
    reversed.data = wide.data() + (n - 1) * 2 * d * 3 + (d - 1) * 3;
    reversed.row_stride = -2 * d * 3;
    reversed.column_stride = -3;
    const auto plain = naive::dense(framed, n, d);
    for (Reduction reduction : {Reduction::dot, Reduction::l1, Reduction::squared_direct}) {
        const auto a = bind_dense(reversed, reversed, Formula{reduction, {}, 0.0}, Frame{shift.data(), scale.data()});
        const auto b = bind_dense(plain, plain, Formula{reduction, {}, 0.0}, Frame{});
        std::vector<T> first(std::size_t(n * n)), second(std::size_t(n * n));
        a->fill_symmetric(first.data(), n);
        b->fill(nullptr, 0, n, 0, n, second.data(), n);
        CHECK(first == second);
    }
}

// Samples that share most of their coordinates with the origin, in two patterns: what lists leave out changes no bit,
// whoever is in them, and nothing beyond rounding against the naive sums.
// Whole numbers lie on a grid, on both sides of the origin or on one.
enum class Numbers { any, whole, positive };
template <class T> static void zeros_are_left_out(Reduction reduction, double origin, Numbers numbers, Index d) {
    const bool bytes = numbers != Numbers::any;
    check::context = std::string(instruction_set().name) + " zeros of " + naive::name(reduction);
    const Index n = 301;
    auto x = naive::samples<T>(Reduction::dot, n * d, 1.0, 11);
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < d; ++k) {
            T& value = x[std::size_t(i * d + k)];
            if (bytes) value = std::round(T(20) * value);
            if (numbers == Numbers::positive) value = std::abs(value);
            value = (k / 10 + i) % 2 || (i * d + k) % 3 ? T(origin) : value + T(origin);
        }
    const std::vector<double> shift(std::size_t(d), origin);
    const auto source = naive::dense(x, n, d);
    const Formula formula{reduction, {}, 0.0};
    Frame frame{reduction == Reduction::dot ? nullptr : shift.data(), nullptr};
    if (bytes) frame.grid = useful_grid<T>(source, source, formula, frame);
    CHECK(bool(frame.grid) == bytes);
    if (bytes) CHECK(frame.grid.place(T(origin)) == 0);
    const Form form = form_of<T>(reduction, d, frame);
    CHECK((form == Form::number) == !bytes);
    if (bytes) CHECK((form == Form::bytes) == (numbers == Numbers::positive && instruction_set().bytes<T>()));
    const auto pairs = bind_dense(source, source, formula, frame);
    std::vector<T> whole(std::size_t(n * n)), symmetric(whole), streamed(whole), alone(static_cast<std::size_t>(n));
    pairs->fill(nullptr, 0, n, 0, n, whole.data(), n);
    pairs->fill_symmetric(symmetric.data(), n);
    CHECK(symmetric == whole);
    std::vector<Index> every(static_cast<std::size_t>(n));
    std::iota(every.begin(), every.end(), Index(0));
    std::unique_ptr<typename Pairs<T>::Ready> ready;
    pairs->prepare(every.data() + 1, n - 1, ready); // used again for others
    pairs->prepare(every.data(), n, ready);
    for (const auto* made : {ready.get(), static_cast<typename Pairs<T>::Ready*>(nullptr)}) {
        std::fill(streamed.begin(), streamed.end(), T(-7));
        pairs->stream(
            every.data(), n, 0, n,
            [&](Index r, Index count, Index j0, Index j1, const T* block, Index stride) {
                for (Index i = 0; i < count; ++i)
                    std::copy_n(block + i * stride, j1 - j0, streamed.data() + (r + i) * n + j0);
            },
            made);
        CHECK(streamed == whole);
    }
    for (Index i = 0; i < n; i += 7) {
        pairs->fill(nullptr, i, 1, 0, n, alone.data(), n);
        CHECK(std::equal(alone.begin(), alone.end(), whole.begin() + i * n));
        auto xi = [&](Index k) { return x[std::size_t(i * d + k)]; };
        for (Index j = 0; j < n; j += 11) {
            auto xj = [&](Index k) { return x[std::size_t(j * d + k)]; };
            CHECK_CLOSE(alone[std::size_t(j)], naive::reduce(reduction, d, xi, xj), 10 * kTolerance<T>,
                        double(naive::size(reduction, d, xi, xj)) + 1);
        }
    }
}

// The hook is asked before every block, not after a row of them: the first touches all of a new matrix.
static void stops_within_a_row_of_blocks() {
    check::context = "interrupted";
    set_thread_count(1);
    const Index n = 1000;
    const std::vector<double> x(std::size_t(n), 1.0);
    const auto source = naive::dense(x, n, 1);
    const auto pairs = bind_dense(source, source, Formula{Reduction::dot, {}, 0.0}, Frame{});
    std::vector<double> out(std::size_t(n * n), -7.0);
    set_interrupt_hook([] { return true; });
    std::this_thread::sleep_for(std::chrono::milliseconds(60)); // so that it is asked
    CHECK_THROWS(Interrupted, pairs->fill_symmetric(out.data(), n));
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    CHECK_THROWS(Interrupted, pairs->fill(nullptr, 0, n, 0, n, out.data(), n));
    set_interrupt_hook(nullptr);
    CHECK(out == std::vector<double>(out.size(), -7.0)); // nothing was begun
}

template <class T> static void all() {
    for (Reduction reduction : naive::reductions()) {
        set_thread_count(2);
        against_naive<T>(reduction, 5, 3, 1);
        against_naive<T>(reduction, 29, 205, 33);
        against_naive<T>(reduction, 203, 31, 7);
        against_naive<T>(reduction, 13, 19, 700); // several chunks
        symmetric<T>(reduction, 1, 4);
        symmetric<T>(reduction, 397, 20);
    }
    set_thread_count(2);
    for (double rate : {1e-4, 0.5, 20.0})
        for (bool outlier : {false, true}) distances_after_cancellation<T>(rate, outlier);
    memory_and_frame<T>();
    for (Index d : {150, 1100}) { // the integers of a row are one chunk, or several
        zeros_are_left_out<T>(Reduction::dot, 0, Numbers::any, d);
        for (double origin : {0.0, -3.0})
            for (Numbers numbers : {Numbers::any, Numbers::whole, Numbers::positive})
                zeros_are_left_out<T>(Reduction::squared_distance, origin, numbers, d);
    }
}

int main() {
    for (const InstructionSet* set : instruction_sets()) {
        if (!set->available()) {
            std::printf("this processor has no %s: not tested\n", set->name);
            CHECK_THROWS(std::invalid_argument, select_instruction_set(set->name));
            continue;
        }
        select_instruction_set(set->name);
        all<float>();
        all<double>();
        stops_within_a_row_of_blocks();
    }
    CHECK_THROWS(std::invalid_argument, select_instruction_set("none"));
    return check::finish();
}
