// Blocks of a matrix written across the diagonal, four rows and columns at a time.
#pragma once

#include "samples/source.hpp"

#include <algorithm>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace mercer {

template <class T> void transpose_four(const T* from, Index from_stride, T* to, Index to_stride) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) to[j * to_stride + i] = from[i * from_stride + j];
}
#if defined(__SSE__)
template <> inline void transpose_four(const float* from, Index from_stride, float* to, Index to_stride) {
    __m128 row[4];
    for (int i = 0; i < 4; ++i) row[i] = _mm_loadu_ps(from + i * from_stride);
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    for (int j = 0; j < 4; ++j) _mm_storeu_ps(to + j * to_stride, row[j]);
}
#endif

// to[j * to_stride + i] = from[i * from_stride + j], in pieces of so few rows of both that their cache lines stay even
// where the rows of a matrix are a power of two apart, and so share their places in the cache.
template <class T> void transpose(Index rows, Index columns, const T* from, Index from_stride, T* to, Index to_stride) {
    constexpr Index kFromRows = 16, kToRows = 8;
    const auto piece = [&](Index i0, Index i1, Index j0, Index j1) {
        const Index i4 = i0 + (i1 - i0) / 4 * 4, j4 = j0 + (j1 - j0) / 4 * 4;
        for (Index j = j0; j < j4; j += 4)
            for (Index i = i0; i < i4; i += 4)
                transpose_four(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride);
        for (Index j = j0; j < j1; ++j)
            for (Index i = j < j4 ? i4 : i0; i < i1; ++i) to[j * to_stride + i] = from[i * from_stride + j];
    };
    for (Index j0 = 0; j0 < columns; j0 += kToRows)
        for (Index i0 = 0; i0 < rows; i0 += kFromRows)
            piece(i0, std::min(rows, i0 + kFromRows), j0, std::min(columns, j0 + kToRows));
}

// What is right of the diagonal of a square written left of it.
template <class T> void mirror(Index rows, T* square, Index stride) {
    constexpr Index kRows = 16;
    for (Index i0 = 0; i0 < rows; i0 += kRows) {
        const Index i1 = std::min(rows, i0 + kRows);
        for (Index i = i0; i < i1; ++i)
            for (Index j = i0; j < i; ++j) square[i * stride + j] = square[j * stride + i];
        transpose(i1 - i0, rows - i1, square + i0 * stride + i1, stride, square + i1 * stride + i0, stride);
    }
}

} // namespace mercer
