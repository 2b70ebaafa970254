// Products: a block of the kernel matrix, or its transpose, times a matrix of weights, summed in the precision W of the
// weights while the block is in the cache, and added to sums in double precision. Part of variant.cpp, whose rule on
// names holds here.
#pragma once

#include "kernels/simd.hpp"
#include "kernels/tiles.hpp"

#include <cstddef>

namespace mercer::MERCER_ISA {

// A row of the block times a column of weights.
template <class T, class W> double dot(std::ptrdiff_t n, const T* values, const W* weights) {
    constexpr int L = MERCER_VECTOR_BYTES / sizeof(W), U = 4 * L;
    W sum[U] = {};
    double total = 0;
    std::ptrdiff_t j = 0;
    for (; j + U <= n; j += U)
        for (int l = 0; l < U; ++l) sum[l] += W(values[j + l]) * weights[j + l];
    for (; j + L <= n; j += L)
        for (int l = 0; l < L; ++l) sum[l] += W(values[j + l]) * weights[j + l];
    for (; j < n; ++j) total += double(values[j]) * double(weights[j]);
    for (int half = U / 2; half >= L; half /= 2)
        for (int l = 0; l < half; ++l) sum[l] += sum[half + l];
    for (int l = 0; l < L; ++l) total += double(sum[l]);
    return total;
}

// out[i] += sum_k block[k * stride + i] weights[k] for i < Count: rows that lie side by side.
template <class T, class W, int Count> void side_by_side(std::ptrdiff_t n, const T* block, std::ptrdiff_t stride,
                                                         const W* weights, double* out, std::ptrdiff_t out_stride) {
    W sum[Count] = {};
    for (std::ptrdiff_t k = 0; k < n; ++k)
        for (int i = 0; i < Count; ++i) sum[i] += W(block[k * stride + i]) * weights[k];
    for (int i = 0; i < Count; ++i) out[i * out_stride] += double(sum[i]);
}

// So many rows of weights, and what they meet of the block, stay in the first-level cache.
constexpr std::ptrdiff_t kDepth = 240;

// R rows and N vectors of outputs, whose sums stay in registers.
template <class T, class W, int R, int N>
void multiply_rows(std::ptrdiff_t n, const T* block, std::ptrdiff_t row_stride, std::ptrdiff_t stride, const W* weights,
                   std::ptrdiff_t padded, double* out, std::ptrdiff_t out_stride) {
    using S = Simd<W>;
    typename S::V sum[R][N] = {};
    for (std::ptrdiff_t k = 0; k < n; ++k, block += stride, weights += padded) {
        typename S::V w[N];
#pragma GCC unroll 2
        for (int o = 0; o < N; ++o) w[o] = S::load(weights + o * S::lanes);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
            const typename S::V value = S::splat(W(block[r * row_stride]));
#pragma GCC unroll 2
            for (int o = 0; o < N; ++o) sum[r][o] = sum[r][o] + value * w[o];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
        W lanes[N * S::lanes];
        for (int o = 0; o < N; ++o) S::store(lanes + o * S::lanes, sum[r][o]);
        for (int l = 0; l < N * S::lanes; ++l) out[r * out_stride + l] += double(lanes[l]);
    }
}

template <class T, class W, int R> void multiply_panel(std::ptrdiff_t n, const T* block, std::ptrdiff_t row_stride,
                                                       std::ptrdiff_t stride, const W* weights, std::ptrdiff_t padded,
                                                       double* out, std::ptrdiff_t out_stride) {
    constexpr std::ptrdiff_t L = Simd<W>::lanes;
    std::ptrdiff_t o = 0;
    for (; o + 2 * L <= padded; o += 2 * L)
        multiply_rows<T, W, R, 2>(n, block, row_stride, stride, weights + o, padded, out + o, out_stride);
    if (o < padded) multiply_rows<T, W, R, 1>(n, block, row_stride, stride, weights + o, padded, out + o, out_stride);
}

template <class T, class W> void multiply(std::ptrdiff_t rows, std::ptrdiff_t n, const T* block,
                                          std::ptrdiff_t row_stride, std::ptrdiff_t stride, const W* weights,
                                          std::ptrdiff_t padded, double* out, std::ptrdiff_t out_stride) {
    constexpr std::ptrdiff_t L = Simd<W>::lanes;
    if (padded == 1 && stride == 1) {
        for (std::ptrdiff_t r = 0; r < rows; ++r) out[r * out_stride] += dot(n, block + r * row_stride, weights);
        return;
    }
    if (padded == 1) {
        std::ptrdiff_t r = 0;
        for (; r + 8 * L <= rows; r += 8 * L)
            side_by_side<T, W, 8 * L>(n, block + r, stride, weights, out + r * out_stride, out_stride);
        for (; r + L <= rows; r += L)
            side_by_side<T, W, L>(n, block + r, stride, weights, out + r * out_stride, out_stride);
        for (; r < rows; ++r) side_by_side<T, W, 1>(n, block + r, stride, weights, out + r * out_stride, out_stride);
        return;
    }
    for (std::ptrdiff_t k = 0; k < n; k += kDepth) {
        const std::ptrdiff_t depth = n - k < kDepth ? n - k : kDepth;
        const T* part = block + k * stride;
        const W* of_part = weights + k * padded;
        constexpr int R = MERCER_TILE_ROWS;
        std::ptrdiff_t r = 0;
        for (; r + R <= rows; r += R)
            multiply_panel<T, W, R>(depth, part + r * row_stride, row_stride, stride, of_part, padded,
                                    out + r * out_stride, out_stride);
        for (; r < rows; ++r)
            multiply_panel<T, W, 1>(depth, part + r * row_stride, row_stride, stride, of_part, padded,
                                    out + r * out_stride, out_stride);
    }
}

} // namespace mercer::MERCER_ISA
