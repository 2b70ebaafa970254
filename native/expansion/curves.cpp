#include "expansion/curves.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace mercer {
namespace {

// A block of a matrix by columns: the entries of column j, counted from the first, are values[first[j] .. first[j +
// 1]), in rows `at`. Dense columns are all there, zeros included, and in order, so that `at` is empty.
struct Columns {
    std::vector<double> values;
    std::vector<std::int32_t> at;
    std::vector<Index> first;

    template <class T> void read(const Source<T>& source, Index row, Index rows, Index column, Index columns) {
        first.assign(std::size_t(columns) + 1, 0);
        at.clear();
        if (!source.sparse()) {
            values.resize(std::size_t(columns * rows));
            for (Index j = 0; j <= columns; ++j) first[std::size_t(j)] = j * rows;
            constexpr Index kTile = 16;
            for (Index i0 = 0; i0 < rows; i0 += kTile)
                for (Index j0 = 0; j0 < columns; j0 += kTile)
                    for (Index i = i0; i < std::min(rows, i0 + kTile); ++i) {
                        const T* from = source.data + (row + i) * source.row_stride + column * source.column_stride;
                        for (Index j = j0; j < std::min(columns, j0 + kTile); ++j)
                            values[std::size_t(j * rows + i)] = double(from[j * source.column_stride]);
                    }
            return;
        }
        auto each = [&](auto visit) {
            for (Index i = 0; i < rows; ++i) {
                const std::int32_t *begin = source.indices + source.indptr[row + i],
                                   *end = source.indices + source.indptr[row + i + 1];
                for (auto p = std::lower_bound(begin, end, column); p < end && *p < column + columns; ++p)
                    visit(*p - column, i, source.values[p - source.indices]);
            }
        };
        each([&](Index j, Index, T) { ++first[std::size_t(j) + 1]; });
        for (Index j = 0; j < columns; ++j) first[std::size_t(j) + 1] += first[std::size_t(j)];
        values.resize(std::size_t(first.back()));
        at.resize(std::size_t(first.back()));
        std::vector<Index> next(first.begin(), first.end() - 1);
        each([&](Index j, Index i, T value) {
            const auto to = std::size_t(next[std::size_t(j)]++);
            values[to] = double(value);
            at[to] = std::int32_t(i);
        });
    }
};

struct Entry {
    double value;
    Index at;
    bool operator<(const Entry& other) const { return value < other.value || (value == other.value && at < other.at); }
};

// The entries of a column that are not zero, sorted.
std::vector<Entry> sorted(const Columns& columns, Index j) {
    std::vector<Entry> entries;
    const Index begin = columns.first[std::size_t(j)], end = columns.first[std::size_t(j) + 1];
    for (Index p = begin; p < end; ++p)
        if (columns.values[std::size_t(p)] != 0)
            entries.push_back(
                {columns.values[std::size_t(p)], columns.at.empty() ? p - begin : Index(columns.at[std::size_t(p)])});
    std::sort(entries.begin(), entries.end());
    return entries;
}

} // namespace

Ladder::Ladder(const std::vector<double>& knots) : size_(Index(knots.size())), knots_(knots) {
    if (knots.empty()) return;
    const auto low = std::bit_cast<std::int64_t>(knots.front()), high = std::bit_cast<std::int64_t>(knots.back());
    // Positive numbers are ordered as their bits are; one to two buckets for each knot.
    while (((high - low) >> shift_) > 2 * size_) ++shift_;
    first_ = low >> shift_;
    const Index buckets = (high >> shift_) - first_ + 1;
    guide_.assign(std::size_t(buckets) + 1, std::int32_t(size_));
    for (Index k = size_; k-- > 0;)
        guide_[std::size_t((std::bit_cast<std::int64_t>(knots[std::size_t(k)]) >> shift_) - first_)] = std::int32_t(k);
    Index fullest = 0;
    for (auto b = std::size_t(buckets); b-- > 0;) {
        guide_[b] = std::min(guide_[b], guide_[b + 1]);
        fullest = std::max<Index>(fullest, guide_[b + 1] - guide_[b]);
    }
    for (reach_ = 1; reach_ <= fullest;) reach_ *= 2;
    knots_.resize(std::size_t(size_ + reach_), std::numeric_limits<double>::infinity());
}

inline Index Ladder::bucket(double t) const {
    return std::clamp<Index>((std::bit_cast<std::int64_t>(t) >> shift_) - first_, 0, Index(guide_.size()) - 1);
}

void Ladder::arrange(const double* t, const std::int32_t* at, Index count, double* to, std::int32_t* to_at) const {
    constexpr int kBins = 512;
    int coarse = 0;
    while ((Index(guide_.size()) >> coarse) >= kBins) ++coarse;
    std::int32_t next[kBins + 1] = {};
    for (Index e = 0; e < count; ++e) ++next[(bucket(t[e]) >> coarse) + 1];
    for (int b = 0; b < kBins; ++b) next[b + 1] += next[b];
    for (Index e = 0; e < count; ++e) {
        const std::int32_t place = next[bucket(t[e]) >> coarse]++;
        to[place] = t[e];
        to_at[place] = at ? at[e] : std::int32_t(e);
    }
}

void Ladder::below(const double* t, Index count, std::int32_t* places) const {
    const double* knots = knots_.data();
    for (Index e = 0; e < count; ++e) places[e] = guide_[std::size_t(bucket(t[e]))];
    for (Index half = reach_ / 2; half > 0; half /= 2)
        for (Index e = 0; e < count; ++e) places[e] += std::int32_t(knots[places[e] + half - 1] <= t[e] ? half : 0);
}

template <class T> Curves Curves::intersection(const Source<T>& z, const double* weights, Index outputs,
                                               const std::vector<Index>& starts) {
    Curves curves;
    curves.segments_ = Index(starts.size());
    curves.outputs_ = outputs;
    curves.pieces_.resize(std::size_t(z.columns));
    std::vector<Index> segment(std::size_t(z.rows), 0);
    for (Index s = 0; s < curves.segments_; ++s) {
        const Index end = s + 1 < curves.segments_ ? starts[std::size_t(s) + 1] : z.rows;
        for (Index i = starts[std::size_t(s)]; i < end; ++i) segment[std::size_t(i)] = s;
    }
    Columns columns;
    columns.read(z, 0, z.rows, 0, z.columns);
    parallel(z.columns, [&](long j) {
        poll();
        Pieces& pieces = curves.pieces_[std::size_t(j)];
        const std::vector<Entry> entries = sorted(columns, j);
        const auto begin = entries.begin(), end = entries.end();
        std::vector<double> knots;
        for (auto e = begin; e != end; ++e)
            if (knots.empty() || knots.back() != e->value) knots.push_back(e->value);
        // The distinct values of each segment, and of those the number at or below each knot of all.
        const Index S = curves.segments_;
        std::vector<std::int32_t> count(std::size_t(S), 0);
        std::vector<double> last(std::size_t(S), 0.0);
        if (S > 1) pieces.place.assign((knots.size() + 1) * std::size_t(S), 0);
        std::size_t knot = 0;
        for (auto e = begin; e != end; ++e) {
            const auto s = std::size_t(segment[std::size_t(e->at)]);
            if (last[s] != e->value) ++count[s], last[s] = e->value;
            while (knots[knot] != e->value) ++knot;
            if (S > 1 && (e + 1 == end || (e + 1)->value != e->value))
                for (std::size_t k = 0; k < std::size_t(S); ++k)
                    pieces.place[k * (knots.size() + 1) + knot + 1] = count[k];
        }
        pieces.ladder = Ladder(knots);
        pieces.start.assign(std::size_t(S) + 1, 0);
        const Index line = 2 * outputs;
        for (std::size_t s = 0; s < std::size_t(S); ++s) pieces.start[s + 1] = pieces.start[s] + (count[s] + 1) * line;
        pieces.lines.assign(std::size_t(pieces.start.back()), 0.0);
        // Intercepts are summed upwards and slopes downwards, so that nothing is ever taken away again.
        std::fill(count.begin(), count.end(), 0);
        std::fill(last.begin(), last.end(), 0.0);
        for (auto e = begin; e != end; ++e) {
            const auto s = std::size_t(segment[std::size_t(e->at)]);
            double* own = pieces.lines.data() + pieces.start[s];
            if (last[s] != e->value) {
                std::copy_n(own + count[s] * line, outputs, own + (count[s] + 1) * line);
                ++count[s], last[s] = e->value;
            }
            for (Index o = 0; o < outputs; ++o) own[count[s] * line + o] += weights[e->at * outputs + o] * e->value;
        }
        for (auto e = end; e != begin;) {
            --e;
            const auto s = std::size_t(segment[std::size_t(e->at)]);
            double* own = pieces.lines.data() + pieces.start[s] + outputs;
            if (last[s] != e->value) { // the first of the next lower value
                --count[s], last[s] = e->value;
                std::copy_n(own + count[s] * line, outputs, own + (count[s] - 1) * line);
            }
            for (Index o = 0; o < outputs; ++o) own[(count[s] - 1) * line + o] += weights[e->at * outputs + o];
        }
    });
    return curves;
}

Curves Curves::through(const std::vector<double>& knots, const double* values, Index coordinates, Index outputs) {
    Curves curves;
    curves.outputs_ = outputs;
    curves.shared_ = Ladder(knots);
    curves.pieces_.resize(std::size_t(coordinates));
    const Index count = Index(knots.size()), line = 2 * outputs;
    parallel(coordinates, [&](long j) {
        Pieces& pieces = curves.pieces_[std::size_t(j)];
        const double* own = values + j * count * outputs;
        pieces.start = {0, (count + 1) * line};
        pieces.lines.assign(std::size_t((count + 1) * line), 0.0);
        for (Index m = 0; m <= count; ++m) {
            double* to = pieces.lines.data() + m * line;
            for (Index o = 0; o < outputs; ++o) {
                const double left = m > 0 ? own[(m - 1) * outputs + o] : 0.0,
                             from = m > 0 ? knots[std::size_t(m) - 1] : 0.0;
                const double slope = m < count ? (own[m * outputs + o] - left) / (knots[std::size_t(m)] - from) : 0.0;
                to[o] = left - slope * from;
                to[outputs + o] = slope;
            }
        }
    });
    return curves;
}

std::size_t Curves::bytes() const {
    std::size_t sum = shared_.bytes();
    for (const Pieces& p : pieces_)
        sum += p.ladder.bytes() + p.lines.size() * sizeof(double) + p.place.size() * sizeof(std::int32_t);
    return sum;
}

// Some rows on their way through some coordinates.
struct Curves::Block {
    Columns columns;
    std::vector<double> sorted;
    std::vector<std::int32_t> sorted_at, below;
};

// As many knots, and as many rows, make it worth while to sort the rows first.
constexpr Index kSpread = 8192, kMany = 512;
// Fewer entries than this are not worth waking a thread for.
constexpr Index kFew = 1 << 12;

void Curves::add(const Pieces& pieces, Block& block, Index first, Index last, double* sums, Index rows) const {
    const Ladder& ladder = shared_.empty() ? pieces.ladder : shared_;
    if (ladder.empty()) return;
    const Index count = last - first, outputs = outputs_;
    const double* t = block.columns.values.data() + first;
    const std::int32_t* at = block.columns.at.empty() ? nullptr : block.columns.at.data() + first;
    block.below.resize(std::size_t(count));
    if (ladder.size() >= kSpread && count >= kMany && segments_ * outputs == 1) {
        block.sorted.resize(std::size_t(count));
        block.sorted_at.resize(std::size_t(count));
        ladder.arrange(t, at, count, block.sorted.data(), block.sorted_at.data());
        t = block.sorted.data();
        at = block.sorted_at.data();
    }
    ladder.below(t, count, block.below.data());
    for (Index s = 0; s < segments_; ++s) {
        const double* lines = pieces.lines.data() + pieces.start[std::size_t(s)];
        const std::int32_t* place = segments_ == 1 ? nullptr : pieces.place.data() + s * (ladder.size() + 1);
        double* own = sums + s * rows * outputs;
        for (Index e = 0; e < count; ++e) {
            const Index below = block.below[std::size_t(e)];
            const double* line = lines + (place ? Index(place[below]) : below) * 2 * outputs;
            double* to = own + (at ? Index(at[e]) : e) * outputs;
            for (Index o = 0; o < outputs; ++o) to[o] += line[o] + t[e] * line[outputs + o];
        }
    }
}

template <class T> void Curves::evaluate(const Source<T>& x, double* out) const {
    // Coordinates are shared out, in groups that are always the same, and all rows of a block ask for one coordinate
    // after the other, whose lines then stay in the cache. The sums of the groups are added in order.
    constexpr Index kGroups = 8;
    const Index values = segments_ * outputs_, width = (x.columns + kGroups - 1) / kGroups;
    const Index height = std::clamp<Index>((Index(1) << 20) / std::max<Index>(1, values), 1024, 16384);
    std::vector<double> sums;
    for (Index row = 0; row < x.rows; row += height) {
        const Index rows = std::min(height, x.rows - row);
        sums.assign(std::size_t(kGroups * rows * values), 0.0);
        auto group = [&](long g) {
            static thread_local Block block;
            const Index column = g * width, columns = std::min(width, x.columns - column);
            if (columns <= 0) return;
            block.columns.read(x, row, rows, column, columns);
            for (Index j = 0; j < columns; ++j) {
                add(pieces_[std::size_t(column + j)], block, block.columns.first[std::size_t(j)],
                    block.columns.first[std::size_t(j) + 1], sums.data() + g * rows * values, rows);
                poll();
            }
        };
        if (rows * x.columns < kFew)
            for (long g = 0; g < kGroups; ++g) group(g);
        else
            parallel(kGroups, group);
        for (Index s = 0; s < segments_; ++s)
            for (Index i = 0; i < rows; ++i)
                for (Index o = 0; o < outputs_; ++o) {
                    double sum = 0;
                    for (Index g = 0; g < kGroups; ++g)
                        sum += sums[std::size_t(((g * segments_ + s) * rows + i) * outputs_ + o)];
                    out[((row + i) * segments_ + s) * outputs_ + o] = sum;
                }
    }
}

template Curves Curves::intersection(const Source<float>&, const double*, Index, const std::vector<Index>&);
template Curves Curves::intersection(const Source<double>&, const double*, Index, const std::vector<Index>&);
template void Curves::evaluate(const Source<float>&, double*) const;
template void Curves::evaluate(const Source<double>&, double*) const;

} // namespace mercer
