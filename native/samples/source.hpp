// Rows of vectors as they lie in the caller's memory: a strided dense array or compressed sparse rows, which may be of
// another precision than they are read in, and in another order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mercer {

using Index = std::int64_t;

template <class T> struct Source {
    Index rows = 0;
    Index columns = 0;
    // Row i of these is row order[i] of the memory, which may have others; null if it is row i.
    const Index* order = nullptr;
    // Dense: element (i, k) at data[i * row_stride + k * column_stride].
    const T* data = nullptr;
    Index row_stride = 0;
    Index column_stride = 0;
    // Sparse: row i holds values[indptr[i] .. indptr[i+1]) at sorted, distinct coordinates `indices`. Coordinate k is
    // column k or, if places are given, place[k], and is left out where that is -1.
    const T* values = nullptr;
    const std::int32_t* indices = nullptr;
    const Index* indptr = nullptr;
    const std::int32_t* place = nullptr;
    // Of the other precision: elements, or values, lie in the same way here instead.
    using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
    const Other* other = nullptr;

    bool sparse() const { return indptr != nullptr; }
    bool contiguous() const { return !sparse() && !other && column_stride == 1; }
    Index at(Index i) const { return order ? order[i] : i; }
    const T* row(Index i) const { return data + at(i) * row_stride; } // dense, and not of the other precision
    // Sparse: row i holds the values from begin(i) on, and before end(i); stored() is their number in all rows.
    Index begin(Index i) const { return indptr[at(i)]; }
    Index end(Index i) const { return indptr[at(i) + 1]; }
    T value(Index p) const { return other ? T(other[p]) : values[p]; }
    Index stored() const {
        if (!order) return indptr[rows] - indptr[0];
        Index sum = 0;
        for (Index i = 0; i < rows; ++i) sum += end(i) - begin(i);
        return sum;
    }

    // Copies row i, zeros included, into buffer[0 .. columns).
    void read(Index i, T* buffer) const {
        read(i, buffer, [](Index, auto x) { return T(x); });
    }
    // What f(k, x) makes of coordinate k, x in the precision of the memory: what f subtracts has not been rounded
    // before.
    template <class F, class Out> void read(Index i, Out* buffer, F f) const {
        if (sparse()) {
            for (Index k = 0; k < columns; ++k) buffer[k] = f(k, T(0));
            other ? scatter(i, other, buffer, f) : scatter(i, values, buffer, f);
        } else {
            other ? copy(other + at(i) * row_stride, buffer, f) : copy(row(i), buffer, f);
        }
    }

  private:
    template <class S, class F, class Out> void scatter(Index i, const S* from, Out* buffer, F f) const {
        for (Index p = begin(i); p < end(i); ++p)
            if (const Index k = place ? place[indices[p]] : indices[p]; k >= 0) buffer[k] = f(k, from[p]);
    }
    template <class S, class F, class Out> void copy(const S* row, Out* buffer, F f) const {
        if (column_stride == 1)
            for (Index k = 0; k < columns; ++k) buffer[k] = f(k, row[k]);
        else
            for (Index k = 0; k < columns; ++k) buffer[k] = f(k, row[k * column_stride]);
    }
};

// The same rows, to be read in the precision T.
template <class T, class S> Source<T> converted(const Source<S>& from) {
    if constexpr (std::is_same_v<T, S>) {
        return from;
    } else {
        Source<T> result;
        result.rows = from.rows, result.columns = from.columns, result.order = from.order;
        result.row_stride = from.row_stride, result.column_stride = from.column_stride;
        result.indices = from.indices, result.indptr = from.indptr, result.place = from.place;
        (from.sparse() ? result.values : result.data) = from.other;
        result.other = from.sparse() ? from.values : from.data;
        return result;
    }
}

// Whether two sets of sparse samples are the same rows of the same memory.
template <class T> bool same_rows(const Source<T>& x, const Source<T>& z) {
    return x.indices == z.indices && x.values == z.values && x.other == z.other && x.rows == z.rows &&
           x.order == z.order;
}

// All coordinates of all samples are origin + step * k with k among 0 .. 255: bytes, as pixels and counts are.
struct Grid {
    double origin = 0, step = 0; // no grid if the step is 0
    int zero = 0;                // the k that becomes the integer 0: one that many coordinates have, if there is one

    explicit operator bool() const { return step > 0; }
    // k - zero. Where no place is farther than kFarthest from 0, up to kMostColumns squares add up to a quarter of what
    // 32 bits hold.
    template <class T> std::int16_t place(T x) const {
        return static_cast<std::int16_t>(static_cast<int>((x - T(origin)) * T(1 / step) + T(256.5)) - 256 - zero);
    }
    static constexpr Index kMostColumns = 1 << 13;
    static constexpr long kFarthest = 255;

    // Whether all coordinates of these samples lie on the grid, at places from the lowest on and up to
    // kFarthest.
    template <class T> bool holds(const Source<T>& source, long lowest = -kFarthest) const;
};

// The grid that two sources, which may be one, have in common up to the precision T, if they have one.
template <class T, class S> Grid find_grid(const Source<S>& x, const Source<S>& z);

// The affine map x -> (x - shift) * scale of each coordinate, applied while packing; null means 0 and 1. Where there is
// a grid, squared distances may be computed from the integers instead.
struct Frame {
    const double* shift = nullptr;
    const double* scale = nullptr;
    Grid grid = {};

    template <class T, class Out> void read(const Source<T>& source, Index i, Out* row) const {
        if (shift && scale)
            source.read(i, row, [this](Index k, auto x) { return Out((double(x) - shift[k]) * scale[k]); });
        else if (shift)
            source.read(i, row, [this](Index k, auto x) { return Out(double(x) - shift[k]); });
        else if (scale)
            source.read(i, row, [this](Index k, auto x) { return Out(double(x) * scale[k]); });
        else
            source.read(i, row, [](Index, auto x) { return Out(x); });
    }
};

// The sum of squares of every sample, in a frame; that of sparse samples does not shift.
template <class T> void squares(const Source<T>& source, const Frame& frame, double* out);

} // namespace mercer
