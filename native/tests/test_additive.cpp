// AdditiveFunction against the sums they stand for: every piece, ties, zeros, segments, sparse rows, and any number of
// threads.
#include "check.hpp"
#include "expansion/additive.hpp"
#include "naive.hpp"
#include "threads/pool.hpp"

#include <limits>
#include <random>

using namespace mercer;

template <class T> static Source<T> dense(const std::vector<T>& values, Index rows, Index columns) {
    Source<T> source;
    source.rows = rows;
    source.columns = columns;
    source.data = values.data();
    source.row_stride = columns;
    source.column_stride = 1;
    return source;
}

// Rows with zeros, with ties (multiples of 1/8) and with entries of every size.
template <class T> static std::vector<T> rows(Index count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& v : values) {
        const double u = uniform(random);
        v = T(u < 0.3 ? 0 : u < 0.6 ? std::floor(8 * uniform(random)) / 8 : std::pow(10.0, 6 * uniform(random) - 4));
    }
    return values;
}

template <class T>
static void against_sums(Index n, Index m, Index d, Index outputs, const std::vector<Index>& starts, bool sparse) {
    check::context = std::to_string(8 * sizeof(T)) + " bits, " + std::to_string(n) + " samples, " +
                     std::to_string(outputs) + " outputs, " + std::to_string(starts.size()) + " segments" +
                     (sparse ? ", sparse" : "");
    const auto z = rows<T>(n * d, 1);
    auto x = rows<T>(m * d, 2);
    std::copy_n(z.begin(), std::min(n, m) * d / 2, x.begin()); // entries that are knots
    const auto a = naive::samples<double>(Reduction::dot, n * outputs, 1.0, 3);
    const naive::Compressed<T> zs(z, n, d), xs(x, m, d);
    const auto function =
        AdditiveFunction::intersection(sparse ? zs.source : dense(z, n, d), a.data(), outputs, starts);
    const Index S = Index(starts.size());
    std::vector<double> first;
    for (int threads : {1, 2}) {
        set_thread_count(threads);
        std::vector<double> out(std::size_t(m * S * outputs), -7.0);
        function.evaluate(sparse ? xs.source : dense(x, m, d), out.data());
        if (first.empty()) first = out;
        CHECK(out == first);
    }
    for (Index i = 0; i < m; i += 1 + m / 50)
        for (Index s = 0; s < S; ++s)
            for (Index o = 0; o < outputs; ++o) {
                double sum = 0, size = 0;
                const Index end = s + 1 < S ? starts[std::size_t(s) + 1] : n;
                for (Index k = starts[std::size_t(s)]; k < end; ++k)
                    for (Index j = 0; j < d; ++j) {
                        const double least = double(std::min(x[std::size_t(i * d + j)], z[std::size_t(k * d + j)]));
                        sum += a[std::size_t(k * outputs + o)] * least;
                        size += std::abs(a[std::size_t(k * outputs + o)]) * least;
                    }
                CHECK_CLOSE(first[std::size_t((i * S + s) * outputs + o)], sum, 1e-13, size + 1e-300);
            }
    std::vector<double> alone(std::size_t(S * outputs)); // a row alone is the same to the last bit
    function.evaluate(dense(std::vector<T>(x.begin(), x.begin() + d), 1, d), alone.data());
    CHECK(std::equal(alone.begin(), alone.end(), first.begin()));
}

// Knots share pieces, so they take less memory than a line each would; and numbers may have any scale.
static void compact() {
    check::context = "compact";
    const Index n = 20'000, m = 50;
    std::mt19937 random(7);
    std::exponential_distribution<double> exponential(1);
    std::normal_distribution<double> normal;
    std::vector<double> z(n), a(n), x(m), out(m);
    for (double& v : z) v = exponential(random);
    for (double& v : x) v = exponential(random);
    for (double& v : a) v = normal(random);
    for (double scale : {1.0, 1e-200, 1e200}) {
        std::vector<double> zs(z), xs(x);
        for (double& v : zs) v *= scale;
        for (double& v : xs) v *= scale;
        const auto function = AdditiveFunction::intersection(dense(zs, n, 1), a.data(), 1, {0});
        CHECK(function.bytes() < std::size_t(24 * n));
        function.evaluate(dense(xs, m, 1), out.data());
        for (std::size_t i = 0; i < std::size_t(m); ++i) {
            double sum = 0, size = 0;
            for (std::size_t k = 0; k < std::size_t(n); ++k) {
                sum += a[k] * std::min(x[i], z[k]);
                size += std::abs(a[k]) * std::min(x[i], z[k]);
            }
            CHECK_CLOSE(out[i] / scale, sum, 1e-13, size);
        }
    }
}

static void ladders() {
    check::context = "search";
    std::mt19937 random(5);
    for (double spread : {0.0, 1e-9, 1.0, 600.0}) { // clustered in one bucket, or over the whole range of numbers
        std::vector<double> knots;
        for (int k = 0; k < 300; ++k)
            knots.push_back(std::exp(spread * (std::uniform_real_distribution<double>(-1, 1)(random))) + 1e-16 * k);
        std::sort(knots.begin(), knots.end());
        knots.erase(std::unique(knots.begin(), knots.end()), knots.end());
        std::vector<double> t = knots;
        t.insert(t.end(),
                 {0.0, 5e-324, 1.0, 1e300, std::nextafter(knots.front(), 0.0), std::nextafter(knots.back(), 1e308)});
        std::vector<std::int32_t> places(t.size());
        const KnotSearch<double> search(knots);
        search.below(t.data(), Index(t.size()), places.data());
        for (std::size_t e = 0; e < t.size(); ++e)
            CHECK(places[e] == std::upper_bound(knots.begin(), knots.end(), t[e]) - knots.begin());
        for (std::size_t e = 0; e < t.size(); ++e)
            CHECK(search.floor(places[e]) == (places[e] == 0 ? 0.0 : knots[std::size_t(places[e]) - 1]));
    }
}

static void tables() {
    check::context = "table";
    const std::vector<double> knots{1, 2, 4}, values{1, 10, 4, 20, 5, 30, 0, 0, 1, 1, 2, 4}; // 2 coordinates, 2 outputs
    const auto function = AdditiveFunction::through(knots, values.data(), 2, 2);
    const std::vector<double> x{0.5, 0, 1, 1, 3, 3, 4, 2, 9, 9};
    std::vector<double> out(10);
    function.evaluate(dense(x, 5, 2), out.data());
    const std::vector<double> expected{0.5, 5, 1, 10, 4.5 + 1.5, 25 + 2.5, 5 + 1, 30 + 1, 5 + 2, 30 + 4};
    for (std::size_t i = 0; i < 10; ++i) CHECK_CLOSE(out[i], expected[i], 1e-14, expected[i]);
}

int main() {
    ladders();
    tables();
    compact();
    for (bool sparse : {false, true}) {
        against_sums<double>(300, 40, 11, 1, {0}, sparse);
        against_sums<float>(300, 40, 11, 3, {0}, sparse);
        against_sums<float>(300, 700, 3, 2, {0, 100, 100, 250}, sparse);
        against_sums<double>(20'000, 600, 2, 1, {0}, sparse); // enough of both for many knots in a piece
        against_sums<float>(5'000, 600, 2, 3, {0, 1000, 1000, 2500}, sparse);
        against_sums<double>(1, 5, 4, 1, {0}, sparse);
    }
    return check::finish();
}
