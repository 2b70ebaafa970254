#include "samples/source.hpp"

#include "threads/pool.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

namespace mercer {
namespace {

constexpr Index kSampled = 64;     // rows looked at first
constexpr std::size_t kMost = 256; // places on a grid
constexpr Index kRows = 512;       // rows of a task

// How far from its place on the grid a coordinate may be, in steps: a few roundings of the largest.
template <class T> constexpr double kOff = 1024 * double(std::numeric_limits<T>::epsilon());

// The distinct values of some rows, zeros included, unless they are too many.
template <class T> std::vector<double> distinct(const Source<T>& source) {
    std::vector<double> values, row_values;
    std::vector<T> row(static_cast<std::size_t>(source.columns));
    const Index step = std::max<Index>(1, source.rows / kSampled);
    for (Index i = 0; i < source.rows && values.size() <= kMost; i += step) {
        source.read(i, row.data());
        values.insert(values.end(), row.begin(), row.end());
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
    }
    return values;
}

} // namespace

template <class T> Grid find_grid(const Source<T>& source) {
    const std::vector<double> values = distinct(source);
    if (values.size() < 2 || values.size() > kMost) return {};
    const double low = values.front(), range = values.back() - low;
    double step = range;
    for (std::size_t i = 1; i < values.size(); ++i) step = std::min(step, values[i] - values[i - 1]);
    if (!(step > range / kMost)) return {};
    step = range / std::round(range / step);
    // Every coordinate must lie on the grid, within 256 places; those sampled need not have the lowest.
    std::atomic<long> first{0}, last{0};
    std::atomic<bool> off{false};
    parallel((source.rows + kRows - 1) / kRows, [&](long t) {
        std::vector<T> row(static_cast<std::size_t>(source.columns));
        T least = 0, most = 0, error = 0;
        const T origin = T(low), inverse = T(1 / step);
        for (Index i = t * kRows; i < std::min(source.rows, (t + 1) * kRows) && !off; ++i) {
            source.read(i, row.data());
            for (T x : row) {
                const T k = (x - origin) * inverse, whole = std::nearbyint(k);
                error = std::max(error, std::abs(k - whole));
                least = std::min(least, whole);
                most = std::max(most, whole);
            }
            if (!(double(error) <= kOff<T>) || !(most - least < T(kMost))) off = true;
        }
        if (off) return;
        for (long seen = first; long(least) < seen && !first.compare_exchange_weak(seen, long(least));) continue;
        for (long seen = last; long(most) > seen && !last.compare_exchange_weak(seen, long(most));) continue;
    });
    if (off || last - first >= long(kMost)) return {};
    return {low + double(first) * step, step};
}

template Grid find_grid(const Source<float>&);
template Grid find_grid(const Source<double>&);

} // namespace mercer
