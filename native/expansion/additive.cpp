#include "expansion/additive.hpp"

#include "threads/pool.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace mercer {
namespace {

// A block of a matrix by columns: the entries of column j, counted from the first, are values[first[j] .. first[j +
// 1]), in rows `at`. Dense columns are all there, zeros included, and in order, so that `at` is empty.
template <class T> struct ColumnEntries {
    std::vector<T> values;
    std::vector<std::int32_t> at;
    std::vector<Index> first;

    void read(const Source<T>& source, Index row, Index rows, Index column, Index columns) {
        first.assign(std::size_t(columns) + 1, 0);
        at.clear();
        if (!source.sparse()) {
            values.resize(std::size_t(columns * rows));
            for (Index j = 0; j <= columns; ++j) first[std::size_t(j)] = j * rows;
            constexpr Index kTile = 16;
            for (Index i0 = 0; i0 < rows; i0 += kTile)
                for (Index j0 = 0; j0 < columns; j0 += kTile)
                    for (Index j = j0; j < std::min(columns, j0 + kTile); ++j) {
                        const T* from = source.data + row * source.row_stride + (column + j) * source.column_stride;
                        T* to = values.data() + j * rows;
                        for (Index i = i0; i < std::min(rows, i0 + kTile); ++i) to[i] = from[i * source.row_stride];
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
            values[to] = value;
            at[to] = std::int32_t(i);
        });
    }
};

// As many knots of type A fill what is left of a cache line, if f is a number.
template <class A> constexpr Index kLine = sizeof(A) == 4 ? 4 : 3;
// Within a piece no number is larger than this many times another, so that nothing large cancels.
constexpr double kSpan = 16;

// sum_k weight_k min(0, at_k - t) over kLine<A> knots.
template <class A> inline double bend(const A* at, const double* weight, double t) {
    typedef double Two __attribute__((vector_size(16)));
    typedef std::int64_t Mask __attribute__((vector_size(16)));
    auto part = [&](Index k, Mask kept) {
        Two z{double(at[k]), double(at[k + 1])}, w;
        std::memcpy(&w, weight + k, sizeof w);
        z -= t;
        return reinterpret_cast<Two>(reinterpret_cast<Mask>(z) & (z < 0) & kept) * w;
    };
    const Two sum = part(0, Mask{-1, -1}) + part(kLine<A> - 2, Mask{kLine<A> % 2 ? 0 : -1, -1});
    return sum[0] + sum[1];
}

} // namespace

// An entry of a sample in one coordinate.
struct AdditiveFunction::SampleValue {
    double value;
    std::int32_t sample, segment;
    bool operator<(const SampleValue& other) const {
        return value < other.value || (value == other.value && sample < other.sample);
    }
};

// One record: g and its slope at the start; then of each knot within the piece the weights, its value (as the samples
// have it) and, if there are several segments, the first value of g that the weights belong to.
template <class A> struct AdditiveFunction::Piece {
    double *value, *slope, *weight;
    A* at;
    std::int32_t* target;
    Piece(std::byte* record, Index values, Index outputs, Index within)
        : value(reinterpret_cast<double*>(record)), slope(value + values), weight(slope + values),
          at(reinterpret_cast<A*>(weight + within * outputs)), target(reinterpret_cast<std::int32_t*>(at + within)) {}
};

std::size_t AdditiveFunction::record() const {
    const Index knot = 8 * outputs_ + (narrow_ ? 4 : 8) + (segments_ > 1 ? 4 : 0);
    return std::size_t((16 * values() + within_ * knot + 7) / 8 * 8);
}

template <class A> inline AdditiveFunction::Piece<A> AdditiveFunction::piece(std::byte* records, Index number) const {
    return Piece<A>(records + std::size_t(number) * record(), values(), outputs_, within_);
}

// The entries, sorted, at which a piece starts: each takes as many knots as it has room for.
std::vector<std::size_t> AdditiveFunction::cut(const std::vector<SampleValue>& entries) const {
    const std::size_t n = entries.size();
    auto end_of = [&](std::size_t e, Index& segments) { // of the entries that are equal
        const std::size_t first = e;
        for (; e < n && entries[e].value == entries[first].value; ++e)
            segments += e == first || entries[e].segment != entries[e - 1].segment;
        return e;
    };
    std::vector<std::size_t> starts;
    for (std::size_t e = 0; e < n;) {
        starts.push_back(e);
        const double most = kSpan * entries[e].value;
        Index used = 0;
        e = end_of(e, used);
        for (used = 0; e < n;) {
            const std::size_t end = end_of(e, used);
            if (used > within_ || end == n || entries[end].value > most) break;
            e = end;
        }
    }
    return starts;
}

// The pieces of one coordinate from its entries, sorted. Intercepts are summed upwards and slopes downwards, so that
// nothing is ever taken away again.
template <class A> std::vector<std::byte> AdditiveFunction::build(const std::vector<SampleValue>& entries,
                                                                  const double* weights, KnotSearch<A>& search) const {
    std::vector<std::size_t> starts = cut(entries);
    std::vector<A> knots;
    std::vector<double> sums(std::size_t(values()), 0.0);
    for (std::size_t e : starts) knots.push_back(A(entries[e].value));
    search = KnotSearch<A>(knots);
    std::vector<std::byte> records((starts.size() + 1) * record());
    starts.push_back(entries.size());
    auto sum_up = [&](const SampleValue& entry, double factor) {
        for (Index o = 0; o < outputs_; ++o)
            sums[std::size_t(entry.segment * outputs_ + o)] += factor * weights[entry.sample * outputs_ + o];
    };
    for (std::size_t p = 0; p < knots.size(); ++p) {
        const auto own = piece<A>(records.data(), Index(p) + 1);
        std::fill_n(own.at, within_, std::numeric_limits<A>::infinity());
        std::size_t e = starts[p];
        for (; e < starts[p + 1] && entries[e].value == knots[p]; ++e) sum_up(entries[e], knots[p]);
        std::copy(sums.begin(), sums.end(), own.value);
        for (Index knot = 0; e < starts[p + 1]; ++knot) { // entries that are equal and of one segment are one knot
            const SampleValue& first = entries[e];
            double* weight = own.weight + knot * outputs_;
            for (; e < starts[p + 1] && entries[e].value == first.value && entries[e].segment == first.segment; ++e) {
                sum_up(entries[e], first.value);
                for (Index o = 0; o < outputs_; ++o) weight[o] += weights[entries[e].sample * outputs_ + o];
            }
            own.at[knot] = A(first.value);
            if (segments_ > 1) own.target[knot] = std::int32_t(first.segment * outputs_);
        }
    }
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t p = knots.size(); p-- > 0;) {
        const auto own = piece<A>(records.data(), Index(p) + 1);
        std::size_t e = starts[p + 1];
        while (e > starts[p] && entries[e - 1].value != knots[p]) sum_up(entries[--e], 1.0);
        for (std::size_t v = 0; v < sums.size(); ++v) own.slope[v] = sums[v], own.value[v] += sums[v] * knots[p];
        while (e > starts[p]) sum_up(entries[--e], 1.0);
    }
    std::copy(sums.begin(), sums.end(), piece<A>(records.data(), 0).slope);
    return records;
}

template <class T> AdditiveFunction AdditiveFunction::intersection(const Source<T>& z, const double* weights,
                                                                   Index outputs, const std::vector<Index>& starts) {
    AdditiveFunction function;
    function.segments_ = Index(starts.size());
    function.outputs_ = outputs;
    function.narrow_ = sizeof(T) == 4;
    function.within_ = function.segments_ == 1 ? kLine<T> : 16;
    function.pieces_.resize(std::size_t(z.columns));
    std::vector<std::int32_t> segment(std::size_t(z.rows), 0);
    for (Index s = 0; s < function.segments_; ++s) {
        const Index end = s + 1 < function.segments_ ? starts[std::size_t(s) + 1] : z.rows;
        for (Index i = starts[std::size_t(s)]; i < end; ++i) segment[std::size_t(i)] = std::int32_t(s);
    }
    ColumnEntries<T> columns;
    columns.read(z, 0, z.rows, 0, z.columns);
    std::vector<std::vector<std::byte>> records(std::size_t(z.columns));
    parallel(z.columns, [&](long j) {
        poll();
        std::vector<SampleValue> entries; // of zeros there is nothing to know
        const Index begin = columns.first[std::size_t(j)], end = columns.first[std::size_t(j) + 1];
        for (Index p = begin; p < end; ++p) {
            const Index sample = columns.at.empty() ? p - begin : Index(columns.at[std::size_t(p)]);
            const T value = columns.values[std::size_t(p)];
            if (value != 0) entries.push_back({double(value), std::int32_t(sample), segment[std::size_t(sample)]});
        }
        std::sort(entries.begin(), entries.end());
        auto& search = function.pieces_[std::size_t(j)].search.emplace<KnotSearch<T>>();
        records[std::size_t(j)] = function.build(entries, weights, search);
    });
    std::size_t size = 0;
    for (const auto& own : records) size += own.size();
    std::byte* to = function.records_.reserve(size);
    for (std::size_t j = 0; j < records.size(); ++j) {
        function.pieces_[j].records = to;
        to = std::copy(records[j].begin(), records[j].end(), to);
        records[j] = {};
    }
    return function;
}

AdditiveFunction AdditiveFunction::through(const std::vector<double>& knots, const double* values, Index coordinates,
                                           Index outputs) {
    AdditiveFunction function;
    function.outputs_ = outputs;
    function.shared_ = KnotSearch<double>(knots);
    function.pieces_.resize(std::size_t(coordinates));
    const Index count = Index(knots.size());
    const std::size_t size = std::size_t(count + 1) * function.record();
    std::byte* records = function.records_.reserve(std::size_t(coordinates) * size);
    parallel(coordinates, [&](long j) {
        Pieces& pieces = function.pieces_[std::size_t(j)];
        const double* own = values + j * count * outputs;
        pieces.records = records + std::size_t(j) * size;
        for (Index m = 0; m <= count; ++m) {
            const auto to = function.piece<double>(pieces.records, m);
            const double start = m > 0 ? knots[std::size_t(m) - 1] : 0.0;
            for (Index o = 0; o < outputs; ++o) {
                const double left = m > 0 ? own[(m - 1) * outputs + o] : 0.0;
                to.value[o] = left;
                to.slope[o] = m < count ? (own[m * outputs + o] - left) / (knots[std::size_t(m)] - start) : 0.0;
            }
        }
    });
    return function;
}

// Where some numbers lie.
constexpr Index kTile = 64;
struct AdditiveFunction::Tile {
    std::int32_t places[kTile] = {};
    Index count = 0;
};

std::size_t AdditiveFunction::bytes() const {
    std::size_t sum = shared_.bytes() + records_.size();
    for (const Pieces& p : pieces_) sum += std::visit([](const auto& search) { return search.bytes(); }, p.search);
    return sum;
}

template <> inline const KnotSearch<float>& AdditiveFunction::search(Index coordinate) const {
    return std::get<KnotSearch<float>>(pieces_[std::size_t(coordinate)].search);
}

template <> inline const KnotSearch<double>& AdditiveFunction::search(Index coordinate) const {
    return shared_.empty() ? std::get<KnotSearch<double>>(pieces_[std::size_t(coordinate)].search) : shared_;
}

template <class A, class T> void AdditiveFunction::add_tile(Index coordinate, const Tile& tile, const Tile& next,
                                                            const T* t, const std::int32_t* at, double* sums) const {
    const Pieces& pieces = pieces_[std::size_t(coordinate)];
    const KnotSearch<A>& search = this->search<A>(coordinate);
    auto each = [&](std::size_t size, auto visit) {
        for (Index e = 0; e < tile.count; ++e) {
            const std::byte* coming = pieces.records + std::size_t(next.places[e]) * size;
            for (std::size_t b = 0; b < size; b += 64) __builtin_prefetch(coming + b);
            const std::int32_t place = tile.places[e];
            visit(place, double(t[e]), double(t[e]) - search.floor(place), at ? Index(at[e]) : e);
        }
    };
    if (values() == 1 && within_ == kLine<A>) // without a branch
        return each(64, [&](std::int32_t place, double value, double beyond, Index row) {
            const Piece<A> own(pieces.records + 64 * std::size_t(place), 1, 1, kLine<A>);
            sums[row] += own.value[0] + own.slope[0] * beyond + bend(own.at, own.weight, value);
        });
    each(record(), [&](std::int32_t place, double value, double beyond, Index row) {
        const auto own = piece<A>(pieces.records, place);
        double* to = sums + row * values();
        for (Index v = 0; v < values(); ++v) to[v] += own.value[v] + own.slope[v] * beyond;
        for (Index k = 0; k < within_ && double(own.at[k]) < value; ++k) {
            double* part = segments_ > 1 ? to + own.target[k] : to;
            for (Index o = 0; o < outputs_; ++o) part[o] += own.weight[k * outputs_ + o] * (double(own.at[k]) - value);
        }
    });
}

template <class A, class T>
void AdditiveFunction::add(Index coordinate, const T* t, const std::int32_t* at, Index count, double* sums) const {
    const KnotSearch<A>& search = this->search<A>(coordinate);
    if (search.empty()) return;
    // The search of the next coordinate comes from memory bit by bit, where that is less than the numbers will ask for.
    const KnotSearch<A>* coming = coordinate + 1 < coordinates() ? &this->search<A>(coordinate + 1) : nullptr;
    if (coming && (coming == &search || Index(coming->bytes()) > 64 * count)) coming = nullptr;
    const Index turns = (count + kTile - 1) / kTile;
    const double share = 1 / double(std::max<Index>(turns, 1));
    // The records of the next tile are asked for from memory while those of this one are read.
    Tile tiles[2];
    for (Index turn = 0; turn <= turns; ++turn) {
        Tile &next = tiles[turn % 2], &tile = tiles[(turn + 1) % 2];
        const Index e = turn * kTile, from = e - kTile;
        next.count = std::clamp<Index>(count - e, 0, kTile);
        search.below(t + e, next.count, next.places);
        if (coming && turn < turns) coming->fetch(double(turn) * share, double(turn + 1) * share);
        if (turn > 0)
            add_tile<A>(coordinate, tile, next, t + from, at ? at + from : nullptr, at ? sums : sums + from * values());
    }
}

// Fewer entries than this are not worth waking a thread for.
constexpr Index kFew = 1 << 12;

template <class T> void AdditiveFunction::evaluate(const Source<T>& x, double* out) const {
    // Coordinates are shared out, in groups that are always the same, and all rows of a block ask for one coordinate
    // after the other, whose pieces then stay in the cache. The sums of the groups are added in order.
    constexpr Index kGroups = 8;
    const Index width = (x.columns + kGroups - 1) / kGroups;
    const Index height = std::clamp<Index>((Index(1) << 20) / std::max<Index>(1, values()), 1024, 16384);
    std::vector<double> sums;
    for (Index row = 0; row < x.rows; row += height) {
        const Index rows = std::min(height, x.rows - row), size = rows * values();
        sums.assign(std::size_t(kGroups * size), 0.0);
        auto group = [&](long g) {
            static thread_local ColumnEntries<T> columns;
            const Index column = g * width, count = std::min(width, x.columns - column);
            if (count <= 0) return;
            columns.read(x, row, rows, column, count);
            for (Index j = 0; j < count; ++j) {
                const Index first = columns.first[std::size_t(j)], last = columns.first[std::size_t(j) + 1];
                const T* t = columns.values.data() + first;
                const std::int32_t* at = columns.at.empty() ? nullptr : columns.at.data() + first;
                narrow_ ? add<float>(column + j, t, at, last - first, sums.data() + g * size)
                        : add<double>(column + j, t, at, last - first, sums.data() + g * size);
                poll();
            }
        };
        if (rows * x.columns < kFew)
            for (long g = 0; g < kGroups; ++g) group(g);
        else
            parallel(kGroups, group);
        for (Index i = 0; i < size; ++i) {
            double sum = 0;
            for (Index g = 0; g < kGroups; ++g) sum += sums[std::size_t(g * size + i)];
            out[row * values() + i] = sum;
        }
    }
}

template AdditiveFunction AdditiveFunction::intersection(const Source<float>&, const double*, Index,
                                                         const std::vector<Index>&);
template AdditiveFunction AdditiveFunction::intersection(const Source<double>&, const double*, Index,
                                                         const std::vector<Index>&);
template void AdditiveFunction::evaluate(const Source<float>&, double*) const;
template void AdditiveFunction::evaluate(const Source<double>&, double*) const;

} // namespace mercer
