// Rows of vectors as they lie in the caller's memory: a strided dense array, which may be of another precision than
// they are read in, or compressed sparse rows.
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
    // Dense: element (i, k) at data[i * row_stride + k * column_stride].
    const T* data = nullptr;
    Index row_stride = 0;
    Index column_stride = 0;
    // Dense, but of the other precision: elements lie in the same way here instead.
    using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
    const Other* other = nullptr;
    // Sparse: row i holds values[indptr[i] .. indptr[i+1]) at sorted, distinct columns `indices`.
    const T* values = nullptr;
    const std::int32_t* indices = nullptr;
    const Index* indptr = nullptr;

    bool sparse() const { return indptr != nullptr; }
    bool contiguous() const { return !sparse() && !other && column_stride == 1; }

    // Copies row i, zeros included, into buffer[0 .. columns).
    void read(Index i, T* buffer) const {
        read(i, buffer, [](Index, auto x) { return T(x); });
    }
    // What f(k, x) makes of coordinate k, x in the precision of the memory: what f subtracts has not been rounded
    // before.
    template <class F, class Out> void read(Index i, Out* buffer, F f) const {
        if (sparse()) {
            for (Index k = 0; k < columns; ++k) buffer[k] = f(k, T(0));
            for (Index p = indptr[i]; p < indptr[i + 1]; ++p) buffer[indices[p]] = f(indices[p], values[p]);
        } else if (other) {
            copy(other + i * row_stride, buffer, f);
        } else {
            copy(data + i * row_stride, buffer, f);
        }
    }

  private:
    template <class S, class F, class Out> void copy(const S* row, Out* buffer, F f) const {
        if (column_stride == 1)
            for (Index k = 0; k < columns; ++k) buffer[k] = f(k, row[k]);
        else
            for (Index k = 0; k < columns; ++k) buffer[k] = f(k, row[k * column_stride]);
    }
};

// The same dense rows, to be read in the other precision.
template <class T> Source<T> converted(const Source<typename Source<T>::Other>& from) {
    Source<T> result;
    result.rows = from.rows, result.columns = from.columns;
    result.row_stride = from.row_stride, result.column_stride = from.column_stride;
    result.other = from.data;
    return result;
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
