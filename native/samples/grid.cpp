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

// Adds the distinct values of some rows, zeros included, until there are too many.
template <class T> void add_distinct(const Source<T>& source, std::vector<double>& values) {
    std::vector<T> row(static_cast<std::size_t>(source.columns));
    const Index step = std::max<Index>(1, source.rows / kSampled);
    for (Index i = 0; i < source.rows && values.size() <= kMost; i += step) {
        source.read(i, row.data());
        values.insert(values.end(), row.begin(), row.end());
        std::sort(values.begin(), values.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
    }
}

struct Places {
    long first = 0, last = 0;
    bool off = false; // some coordinate lies on no place
};

// The places of all coordinates of a source, counted from the origin, or that there are none.
template <class T, class S> Places places(const Source<S>& source, double origin, double step) {
    using W = std::common_type_t<T, S>; // far from the origin, T might not tell one place from the next
    constexpr W kRound = W(1.5) / std::numeric_limits<W>::epsilon(); // adding it leaves no digits behind the point
    std::atomic<long> first{0}, last{0};
    std::atomic<bool> off{false};
    parallel((source.rows + kRows - 1) / kRows, [&](long t) {
        std::vector<S> memory(static_cast<std::size_t>(source.columns));
        W least = 0, most = 0, error = 0;
        const W low = W(origin), inverse = W(1 / step);
        for (Index i = t * kRows; i < std::min(source.rows, (t + 1) * kRows) && !off; ++i) {
            const S* row = source.contiguous() ? source.row(i) : memory.data();
            if (!source.contiguous()) source.read(i, memory.data());
            for (Index c = 0; c < source.columns; ++c) {
                const W k = (W(row[c]) - low) * inverse, whole = (k + kRound) - kRound, away = std::abs(k - whole);
                error = away > error ? away : error;
                least = whole < least ? whole : least;
                most = whole > most ? whole : most;
            }
            if (!(double(error) <= kOff<T>) || !(most - least < W(2 * kMost))) off = true;
        }
        if (off) return;
        for (long seen = first; long(least) < seen && !first.compare_exchange_weak(seen, long(least));) continue;
        for (long seen = last; long(most) > seen && !last.compare_exchange_weak(seen, long(most));) continue;
    });
    return {first, last, off};
}

// The place that at least a quarter of the coordinates of some rows have, or the first.
template <class S> int common_place(const Source<S>& source, const Grid& grid) {
    std::vector<S> row(static_cast<std::size_t>(source.columns));
    std::vector<Index> count(kMost, 0);
    const Index step = std::max<Index>(1, source.rows / kSampled);
    Index all = 0;
    for (Index i = 0; i < source.rows; i += step, all += source.columns) {
        source.read(i, row.data());
        for (const S value : row) ++count[std::size_t(grid.place(value) + grid.zero)];
    }
    const auto most = std::max_element(count.begin(), count.end());
    return 4 * *most >= all ? int(most - count.begin()) : grid.zero;
}

} // namespace

template <class T, class S> Grid find_grid(const Source<S>& x, const Source<S>& z) {
    const bool same = x.data == z.data && x.values == z.values && x.rows == z.rows && x.row_stride == z.row_stride &&
                      x.order == z.order;
    std::vector<double> values;
    add_distinct(x, values);
    if (!same) add_distinct(z, values);
    if (values.size() < 2 || values.size() > kMost) return {};
    const double low = values.front(), range = values.back() - low;
    double step = range;
    for (std::size_t i = 1; i < values.size(); ++i) step = std::min(step, values[i] - values[i - 1]);
    if (!(step > range / kMost)) return {};
    step = range / std::round(range / step);
    // Every coordinate must lie on the grid, within 256 places; those sampled need not have the lowest.
    Places all = places<T>(x, low, step);
    if (!same && !all.off) {
        const Places more = places<T>(z, low, step);
        all = {std::min(all.first, more.first), std::max(all.last, more.last), more.off};
    }
    if (all.off || all.last - all.first >= long(kMost)) return {};
    Grid grid{low + double(all.first) * step, step};
    grid.zero = common_place(z, grid);
    return grid;
}

template <class T> bool Grid::holds(const Source<T>& source, long lowest) const {
    const Places all = places<T>(source, origin, step);
    return !all.off && all.first >= zero + lowest && all.last <= zero + kFarthest;
}

template Grid find_grid<float>(const Source<float>&, const Source<float>&);
template Grid find_grid<float>(const Source<double>&, const Source<double>&);
template Grid find_grid<double>(const Source<float>&, const Source<float>&);
template Grid find_grid<double>(const Source<double>&, const Source<double>&);
template bool Grid::holds(const Source<float>&, long) const;
template bool Grid::holds(const Source<double>&, long) const;

} // namespace mercer
