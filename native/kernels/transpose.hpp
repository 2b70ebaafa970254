// A block of a matrix written across the diagonal, four rows and columns at a time.
#pragma once

#include "samples/source.hpp"

#include <algorithm>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace mercer {

template <class T> void transpose_four(const T* from, T* to, Index stride) {
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) to[j * stride + i] = from[i * stride + j];
}
#if defined(__SSE__)
template <> inline void transpose_four(const float* from, float* to, Index stride) {
    __m128 row[4];
    for (int i = 0; i < 4; ++i) row[i] = _mm_loadu_ps(from + i * stride);
    _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
    for (int j = 0; j < 4; ++j) _mm_storeu_ps(to + j * stride, row[j]);
}
#endif

// to[j * stride + i] = from[i * stride + j], a cache line of rows at a time.
template <class T> void transpose(Index rows, Index columns, const T* from, T* to, Index stride) {
    constexpr Index kLine = 16;
    const Index fours = columns / 4 * 4;
    for (Index i0 = 0; i0 < rows; i0 += kLine) {
        const Index i1 = std::min(rows, i0 + kLine), i4 = i0 + (i1 - i0) / 4 * 4;
        for (Index j = 0; j < fours; j += 4) {
            for (Index i = i0; i < i4; i += 4) transpose_four(from + i * stride + j, to + j * stride + i, stride);
            for (Index i = i4; i < i1; ++i)
                for (int k = 0; k < 4; ++k) to[(j + k) * stride + i] = from[i * stride + j + k];
        }
        for (Index j = fours; j < columns; ++j)
            for (Index i = i0; i < i1; ++i) to[j * stride + i] = from[i * stride + j];
    }
}

} // namespace mercer
