// Rows of vectors as they lie in the caller's memory: a strided dense array or compressed sparse rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace mercer {

using Index = std::int64_t;

template <class T> struct Source {
    Index rows = 0;
    Index columns = 0;
    // Dense: element (i, k) at data[i * row_stride + k * column_stride].
    const T* data = nullptr;
    Index row_stride = 0;
    Index column_stride = 0;
    // Sparse: row i holds values[indptr[i] .. indptr[i+1]) at sorted, distinct columns `indices`.
    const T* values = nullptr;
    const std::int32_t* indices = nullptr;
    const Index* indptr = nullptr;

    bool sparse() const { return indptr != nullptr; }
    bool contiguous() const { return !sparse() && column_stride == 1; }

    // Copies row i, zeros included, into buffer[0 .. columns).
    void read(Index i, T* buffer) const {
        if (sparse()) {
            std::fill(buffer, buffer + columns, T(0));
            for (Index p = indptr[i]; p < indptr[i + 1]; ++p) buffer[indices[p]] = values[p];
        } else if (column_stride == 1) {
            std::copy_n(data + i * row_stride, columns, buffer);
        } else {
            const T* row = data + i * row_stride;
            for (Index k = 0; k < columns; ++k) buffer[k] = row[k * column_stride];
        }
    }
};

// All coordinates of all samples are origin + step * k with k among 0 .. 255: bytes, as pixels and counts are.
struct Grid {
    double origin = 0, step = 0; // no grid if the step is 0

    explicit operator bool() const { return step > 0; }
    // k - 128, which squares and adds up without overflow in 32 bits for up to 2^15 coordinates.
    template <class T> std::int16_t place(T x) const {
        return static_cast<std::int16_t>(static_cast<int>((x - T(origin)) * T(1 / step) + T(0.5)) - 128);
    }
    static constexpr Index kMostColumns = 1 << 15;
};

// The grid of a source, if it has one.
template <class T> Grid find_grid(const Source<T>& source);

// The affine map x -> (x - shift) * scale of each coordinate, applied while packing; null means 0 and 1. Where there is
// a grid, squared distances may be computed from the integers instead.
struct Frame {
    const double* shift = nullptr;
    const double* scale = nullptr;
    Grid grid = {};

    template <class T> void apply(Index columns, T* row) const {
        if (shift && scale)
            for (Index k = 0; k < columns; ++k) row[k] = T((double(row[k]) - shift[k]) * scale[k]);
        else if (shift)
            for (Index k = 0; k < columns; ++k) row[k] = T(double(row[k]) - shift[k]);
        else if (scale)
            for (Index k = 0; k < columns; ++k) row[k] = T(double(row[k]) * scale[k]);
    }
};

} // namespace mercer
