// The passes over all coefficients against naive loops, for each instruction set of this processor and for the `wide`
// one (see test_variants.cpp): values, places, ties, and what may neither rise nor fall.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "solvers/scan.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace mercer::wide {
extern const Scans<float> scans32;
extern const Scans<double> scans64;
} // namespace mercer::wide

using namespace mercer;
using Index = std::ptrdiff_t;

template <class T> constexpr T kInfinity = std::numeric_limits<T>::infinity();

// Small whole numbers: sums are exact and ties are frequent. Some entries are `none`.
template <class T> static std::vector<T> numbers(Index n, unsigned seed, T none = T(0)) {
    std::mt19937 random(seed);
    std::vector<T> result(static_cast<std::size_t>(n));
    for (T& value : result) value = random() % 4 == 0 ? none : T(int(random() % 9) - 4);
    return result;
}

template <class T>
static void check_largest(const Extreme<T>& found, const std::vector<T>& slope, const std::vector<T>& rise) {
    Index where = Index(slope.size());
    T value = -kInfinity<T>;
    for (std::size_t k = 0; k < slope.size(); ++k)
        if (slope[k] + rise[k] >= value) value = slope[k] + rise[k], where = Index(k); // the last among equals
    CHECK(found.value == value);
    if (value > -kInfinity<T>) CHECK(found.where == where);
}

template <class T> static void scans_of(const Scans<T>& scan, Index n) {
    for (unsigned seed = 0; seed < 50; ++seed) {
        auto slope = numbers<T>(n, seed);
        auto rise = numbers<T>(n, seed + 100, -kInfinity<T>), fall = numbers<T>(n, seed + 200, kInfinity<T>);
        if (seed == 0) rise.assign(rise.size(), -kInfinity<T>), fall.assign(fall.size(), kInfinity<T>);
        if (seed == 1) rise[rise.size() - 1] = T(100), fall[fall.size() - 1] = T(-100);
        check_largest(scan.largest(n, slope.data(), rise.data()), slope, rise);

        const auto u = numbers<T>(n, seed + 300), v = numbers<T>(n, seed + 400);
        auto moved = slope, expected = slope;
        for (std::size_t k = 0; k < slope.size(); ++k) expected[k] = slope[k] - 2 * u[k] + 3 * v[k];
        const auto found = scan.step(n, moved.data(), T(2), u.data(), T(-3), v.data(), rise.data());
        CHECK(moved == expected);
        check_largest(found, expected, rise);

        // Powers of two as curvatures, so that gains are exact too; entries that coincide have none.
        std::vector<T> diagonal(static_cast<std::size_t>(n)), row(static_cast<std::size_t>(n));
        std::mt19937 random(seed);
        for (std::size_t k = 0; k < diagonal.size(); ++k) {
            diagonal[k] = T(1 << random() % 3);
            row[k] = (T(2) + diagonal[k] - T(random() % 8 == 0 ? 0 : 1 << random() % 3)) / 2;
        }
        const T own = T(2), top = T(int(seed % 7) - 3), least = (sizeof(T) == 4 ? T(1e-7) : T(1e-12)) * own;
        Index where = n;
        T gain = T(-1), lowest = kInfinity<T>;
        for (std::size_t k = 0; k < slope.size(); ++k) {
            const T s = slope[k] + fall[k], difference = top - s;
            lowest = std::min(lowest, s);
            const T value = difference * difference / std::max(own + diagonal[k] - 2 * row[k], least);
            if (difference > 0 && value >= gain) gain = value, where = Index(k);
        }
        const Partner<T> partner = scan.partner(n, slope.data(), fall.data(), row.data(), diagonal.data(), own, top);
        CHECK(partner.lowest == lowest);
        CHECK_CLOSE(partner.gain, gain, 4 * std::numeric_limits<T>::epsilon(), std::abs(gain));
        if (gain >= 0) CHECK(partner.where == where);
    }
}

// f += sum of rows, at every number of rows and odd lengths, nothing beside them.
template <class T> static void accumulation(const Scans<T>& scan) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    for (Index count : {0, 1, 2, 3, 4, 5, 9, 18})
        for (Index n : {0, 1, 3, 7, 8, 15, 16, 33, 64, 100, 257, 1100}) {
            std::vector<std::vector<T>> rows(static_cast<std::size_t>(count));
            std::vector<const T*> at;
            std::vector<double> delta, f(std::size_t(n + 1), 0.25);
            std::vector<long double> expected(std::size_t(n), 0.25L), size(std::size_t(n), 1.0L);
            for (auto& row : rows) {
                delta.push_back(normal(random));
                for (Index j = 0; j < n; ++j) {
                    row.push_back(T(normal(random)));
                    expected[std::size_t(j)] += (long double)(delta.back()) * row.back();
                    size[std::size_t(j)] += std::abs((long double)(delta.back()) * row.back());
                }
                at.push_back(row.data());
            }
            scan.accumulate(count, n, at.data(), delta.data(), f.data());
            for (Index j = 0; j < n; ++j)
                CHECK_CLOSE(f[std::size_t(j)], expected[std::size_t(j)], 4e-16, size[std::size_t(j)]);
            CHECK(f[std::size_t(n)] == 0.25);
            for (Index part = 0; part <= count; part += kAccumulated) {
                std::vector<double> parts(std::size_t(n + 1), 0.25);
                scan.accumulate(part, n, at.data(), delta.data(), parts.data());
                scan.accumulate(count - part, n, at.data() + part, delta.data() + part, parts.data());
                CHECK(parts == f);
            }
            for (Index part : {1, 5, 64, 99}) { // of the columns: the same bits, too
                if (part > n) break;
                std::vector<double> parts(std::size_t(n + 1), 0.25);
                scan.accumulate(count, part, at.data(), delta.data(), parts.data());
                std::vector<const T*> rest = at;
                for (const T*& row : rest) row += part;
                scan.accumulate(count, n - part, rest.data(), delta.data(), parts.data() + part);
                CHECK(parts == f);
            }
        }
}

template <class T> static void all(const char* name, const Scans<T>& scan) {
    check::context = std::string(name) + ", " + std::to_string(8 * sizeof(T)) + " bits";
    for (Index units : {1, 2, 3, 4, 7, 65}) scans_of(scan, units * kScanUnit);
    accumulation(scan);
}

static bool has_wide() {
#if defined(MERCER_WIDE_NEEDS_AVX2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

int main() {
    for (const InstructionSet* set : instruction_sets()) {
        if (!set->available()) {
            std::printf("this processor has no %s: not tested\n", set->name);
            continue;
        }
        all(set->name, *set->scans32);
        all(set->name, *set->scans64);
    }
    if (has_wide()) {
        all("wide", wide::scans32);
        all("wide", wide::scans64);
    }
    return check::finish();
}
