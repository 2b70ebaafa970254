// Nearest columns against sorting every row: any k, ties by the smaller column, any number of threads.
#include "check.hpp"
#include "naive.hpp"
#include "neighbors/nearest.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <numeric>

using namespace mercer;

// Values from few whole numbers, so that ties abound and every sum is exact.
template <class T> static std::vector<T> numbers(Index count, unsigned seed) {
    std::vector<T> out(static_cast<std::size_t>(count));
    for (auto& x : out) {
        seed = seed * 1664525u + 1013904223u;
        x = T((seed >> 24) % 4);
    }
    return out;
}

template <class T> static void against_sorting(Index n, Index m, Index d, Index k) {
    check::context = std::to_string(8 * sizeof(T)) + " bits, " + std::to_string(n) + " x " + std::to_string(m) + " x " +
                     std::to_string(d) + ", k = " + std::to_string(k);
    const auto x = numbers<T>(n * d, 1), z = numbers<T>(m * d, 2), offset = numbers<T>(m, 3);
    const auto pairs = bind(naive::dense(x, n, d), naive::dense(z, m, d), Formula{Reduction::dot, {}, 0.0}, Frame{});
    std::vector<T> block(std::size_t(n * m)), value(std::size_t(n * k)), other(value);
    pairs->fill(nullptr, 0, n, 0, m, block.data(), m);
    std::vector<Index> index(std::size_t(n * k), -1), again(index), order(static_cast<std::size_t>(m));
    for (int threads : {1, 2, 5}) {
        set_thread_count(threads);
        nearest(*pairs, n, m, T(-2), offset.data(), k, index.data(), value.data());
        nearest(block.data(), m, n, m, T(-2), offset.data(), k, again.data(), other.data());
        CHECK(index == again);
        CHECK(value == other);
        for (Index i = 0; i < n; ++i) {
            auto key = [&](Index j) { return T(-2) * block[std::size_t(i * m + j)] + offset[std::size_t(j)]; };
            std::iota(order.begin(), order.end(), Index(0));
            std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return key(a) < key(b); });
            for (Index r = 0; r < k; ++r) {
                CHECK(index[std::size_t(i * k + r)] == order[std::size_t(r)]);
                CHECK(value[std::size_t(i * k + r)] == key(order[std::size_t(r)]));
            }
        }
    }
}

template <class T> static void listed_distances(Index n, Index m, Index d, Index k) {
    check::context = "listed distances, " + std::to_string(d) + " columns";
    const auto x = numbers<T>(n * d, 4), z = numbers<T>(m * d, 5);
    std::vector<double> scale(std::size_t(d), 2.0), out(std::size_t(n * k)), scaled(out);
    std::vector<Index> index(std::size_t(n * k));
    for (Index i = 0; i < n * k; ++i) index[std::size_t(i)] = (7 * i + 3) % m;
    squared_distances(naive::dense(x, n, d), naive::dense(z, m, d), nullptr, k, index.data(), out.data());
    squared_distances(naive::dense(x, n, d), naive::dense(z, m, d), scale.data(), k, index.data(), scaled.data());
    for (Index i = 0; i < n * k; ++i) {
        double sum = 0;
        for (Index c = 0; c < d; ++c) {
            const double e =
                double(x[std::size_t(i / k * d + c)]) - double(z[std::size_t(index[std::size_t(i)] * d + c)]);
            sum += e * e;
        }
        CHECK(out[std::size_t(i)] == sum);
        CHECK(scaled[std::size_t(i)] == 4 * sum);
    }
}

int main() {
    for (Index k : {1, 3, 40}) {
        against_sorting<float>(50, 300, 5, k);
        against_sorting<double>(50, 300, 5, k);
    }
    against_sorting<float>(1, 1, 1, 1);
    against_sorting<double>(600, 40, 20, 40);
    for (Index d : {1, 8, 29}) {
        listed_distances<float>(70, 30, d, 4);
        listed_distances<double>(70, 30, d, 4);
    }
    return check::finish();
}
