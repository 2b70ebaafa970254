// Pairs of sparse rows through the inverted index against dense panels and a naive loop.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "kernels/pairs.hpp"
#include "naive.hpp"
#include "threads/pool.hpp"

using namespace mercer;

template <class T>
static void against_naive(Reduction reduction, Index n, Index m, Index d, double density, bool scaled) {
    check::context = std::string(naive::name(reduction)) + " " + std::to_string(8 * sizeof(T)) + " bits" +
                     (scaled ? ", scaled" : "") + ", density " + std::to_string(density);
    const auto x = naive::samples<T>(reduction, n * d, density, 1), z = naive::samples<T>(reduction, m * d, density, 2);
    const naive::Compressed<T> a(x, n, d), b(z, m, d);
    std::vector<double> scale(std::size_t(d), 1.0);
    if (scaled)
        for (Index k = 0; k < d; ++k) scale[std::size_t(k)] = 0.5 + double(k % 4);
    const Frame frame{nullptr, scaled ? scale.data() : nullptr};
    const auto pairs = naive::listed(a.source, b.source, Formula{reduction, {}, 0.0}, frame);
    std::vector<T> out(std::size_t(n * m), T(-7)), part(std::size_t(2 * (m - 1)));
    pairs->fill(nullptr, 0, n, 0, m, out.data(), m);
    for (Index i = 0; i < n; ++i) {
        auto xi = [&](Index k) { return T(double(x[std::size_t(i * d + k)]) * scale[std::size_t(k)]); };
        for (Index j = 0; j < m; ++j) {
            auto zj = [&](Index k) { return T(double(z[std::size_t(j * d + k)]) * scale[std::size_t(k)]); };
            CHECK_CLOSE(out[std::size_t(i * m + j)], naive::reduce(reduction, d, xi, zj), sizeof(T) == 4 ? 2e-7 : 2e-14,
                        double(naive::size(reduction, d, xi, zj)));
        }
    }
    const Index index[] = {n - 1, 0};
    pairs->fill(index, 0, 2, 1, m, part.data(), m - 1);
    for (Index r = 0; r < 2; ++r)
        for (Index j = 1; j < m; ++j)
            CHECK(part[std::size_t(r * (m - 1) + j - 1)] == out[std::size_t(index[r] * m + j)]);
}

template <class T> static void symmetric(Reduction reduction) {
    const Index n = 90, d = 300;
    check::context = std::string(naive::name(reduction)) + " symmetric";
    auto x = naive::samples<T>(reduction, n * d, 0.05, 3);
    std::copy_n(x.begin(), 10 * d, x.begin() + 50 * d); // duplicates
    const naive::Compressed<T> a(x, n, d);
    const auto pairs = naive::listed(a.source, a.source, Formula{reduction, {}, 0.0}, Frame{});
    std::vector<T> first;
    for (int threads : {1, 2}) {
        set_thread_count(threads);
        std::vector<T> out(std::size_t(n * n));
        pairs->fill_symmetric(out.data(), n);
        if (first.empty()) first = out;
        CHECK(out == first);
    }
    const bool distance = reduction == Reduction::squared_distance || reduction == Reduction::squared_direct ||
                          reduction == Reduction::l1 || reduction == Reduction::linf ||
                          reduction == Reduction::chi2_distance;
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            CHECK(first[std::size_t(i * n + j)] == first[std::size_t(j * n + i)]);
            if (distance) CHECK(first[std::size_t(i * n + j)] >= T(0));
        }
        if (distance) CHECK(first[std::size_t(i * n + i)] == T(0));
        if (distance && i < 10) CHECK(first[std::size_t(i * n + 50 + i)] == T(0));
    }
}

// More columns of the result than one block of the index holds; the lists are kept, or made when they are wanted, a
// part of a block at a time.
static void many_rows(bool keep) {
    check::context = keep ? "many rows" : "many rows, not kept";
    const Index n = 3, m = 8192 + 100, d = 400;
    const auto x = naive::samples<float>(Reduction::dot, n * d, 0.3, 1),
               z = naive::samples<float>(Reduction::dot, m * d, 0.3, 2);
    const naive::Compressed<float> a(x, n, d), b(z, m, d);
    Layout layout = listed_layout(a.source, b.source, Formula{Reduction::l1, {}, 0.0});
    layout.keep = keep;
    const auto pairs = bind(a.source, b.source, Formula{Reduction::l1, {}, 0.0}, Frame{}, layout);
    const auto dense =
        bind_dense(naive::dense(x, n, d), naive::dense(z, m, d), Formula{Reduction::l1, {}, 0.0}, Frame{});
    const Index first = 8100, width = m - first;
    std::vector<float> out(std::size_t(n * width)), expected(std::size_t(n * width));
    pairs->fill(nullptr, 0, n, first, m, out.data(), width);
    dense->fill(nullptr, 0, n, first, m, expected.data(), width);
    for (std::size_t i = 0; i < out.size(); ++i) CHECK_CLOSE(out[i], expected[i], 1e-6, 100.0);
    std::vector<float> seen(out.size());
    const Index every[] = {0, 1, 2};
    pairs->stream(every, n, first, m, [&](Index r, Index count, Index j0, Index j1, const float* block, Index stride) {
        for (Index i = 0; i < count; ++i)
            std::copy_n(block + i * stride, j1 - j0, seen.data() + (r + i) * width + j0 - first);
    });
    CHECK(seen == out);
    const std::size_t kept = listed_bytes<float>(b.source, layout.panelled, true),
                      made = listed_bytes<float>(b.source, layout.panelled, false);
    CHECK(kept > 8 * std::size_t(b.source.indptr[m]) && made < kept + 2 * 8 * std::size_t(d) && made < 8500000);
}

static void chooses_by_density() {
    const Index n = 40, d = 500;
    for (double density : {0.01, 0.9}) {
        const auto x = naive::samples<double>(Reduction::dot, n * d, density, 1);
        const naive::Compressed<double> a(x, n, d);
        CHECK(best_layout<float>(a.source, a.source, Formula{}, Frame{}).lists == (density < 0.5));
        CHECK(!best_layout<float>(naive::dense(x, n, d), a.source, Formula{}, Frame{}).lists);
        for (const auto& pairs : {bind(a.source, a.source, Formula{}, Frame{}),
                                  bind(naive::dense(x, n, d), a.source, Formula{}, Frame{})}) {
            double value = 0, expected = 0;
            pairs->fill(nullptr, 3, 1, 5, 6, &value, 1);
            for (Index k = 0; k < d; ++k) expected += x[std::size_t(3 * d + k)] * x[std::size_t(5 * d + k)];
            CHECK_CLOSE(value, expected, 1e-13, 100.0);
        }
    }
}

// Coordinates that a fifth of the samples have are cheaper in panels, but all of them would take more than their share
// of memory: only the most popular ones get there, and no entry depends on which block it is computed in.
template <class T> static void panels_are_bounded() {
    check::context = "panels, " + std::to_string(8 * sizeof(T)) + " bits";
    const Index n = 300, d = 60;
    auto x = naive::samples<T>(Reduction::dot, n * d, 0.2, 5);
    const auto full = naive::samples<T>(Reduction::dot, n * d, 1.0, 6);
    for (Index i = 0; i < n; ++i) // three of them are in half of the samples
        for (Index k = 7; k < 10; ++k)
            if ((i + k) % 2) x[std::size_t(i * d + k)] = full[std::size_t(i * d + k)];
    const naive::Compressed<T> a(x, n, d), b(x, n / 2, d);
    const Index entries = a.source.indptr[n], panel = 8 * n;
    const Index allowed = 5 * (entries * Index(sizeof(T) + 4) + 8 * n) / 2;
    const Layout layout = listed_layout(a.source, a.source, Formula{});
    CHECK(layout.panelled > 3 && layout.panelled * panel <= allowed && (layout.panelled + 1) * panel > allowed);
    for (Index k = 7; k < 10; ++k) CHECK(layout.place[std::size_t(k)] >= 0);
    CHECK(listed_layout(a.source, b.source, Formula{}).place == listed_layout(b.source, a.source, Formula{}).place);
    const Formula formula{Reduction::squared_distance, {}, 0.0};
    const auto pairs = naive::listed(a.source, a.source, formula, Frame{});
    const auto dense = bind_dense(naive::dense(x, n, d), naive::dense(x, n, d), formula, Frame{});
    std::vector<T> out(std::size_t(n * n)), expected(out.size()), whole(out.size());
    pairs->fill(nullptr, 0, n, 0, n, out.data(), n);
    pairs->fill_symmetric(whole.data(), n);
    dense->fill(nullptr, 0, n, 0, n, expected.data(), n);
    CHECK(out == whole);
    for (std::size_t i = 0; i < out.size(); ++i) CHECK_CLOSE(out[i], expected[i], sizeof(T) == 4 ? 1e-5 : 1e-13, 100.0);
}

template <class T> static void all() {
    for (Reduction reduction : naive::reductions()) {
        for (double density : {0.0, 0.03, 0.6}) {
            against_naive<T>(reduction, 23, 41, 150, density, false);
            if (reduction == Reduction::squared_distance || reduction == Reduction::l1)
                against_naive<T>(reduction, 23, 41, 150, density, true);
        }
        symmetric<T>(reduction);
    }
    panels_are_bounded<T>();
}

int main() {
    all<float>();
    all<double>();
    many_rows(true);
    many_rows(false);
    chooses_by_density();
    return check::finish();
}
