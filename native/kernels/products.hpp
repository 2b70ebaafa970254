// Products: a block of the kernel matrix times a matrix of weights, summed in double precision while the block is in
// the cache. Part of variant.cpp, whose rule on names holds here.
#pragma once

#include <cstddef>

namespace mercer::MERCER_ISA {

template <class T> double dot(std::ptrdiff_t n, const T* values, const double* weights) {
    double sum[8] = {}, total = 0;
    std::ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8)
        for (int l = 0; l < 8; ++l) sum[l] += double(values[j + l]) * weights[j + l];
    for (; j < n; ++j) total += double(values[j]) * weights[j];
    for (int l = 0; l < 8; ++l) total += sum[l];
    return total;
}

// Four rows and eight outputs at a time stay in registers.
template <class T, int R> void multiply_rows(std::ptrdiff_t n, const T* block, std::ptrdiff_t stride,
                                             const double* weights, std::ptrdiff_t padded, double* out,
                                             std::ptrdiff_t out_stride) {
    double sum[R][8] = {};
    for (std::ptrdiff_t j = 0; j < n; ++j)
        for (int r = 0; r < R; ++r) {
            const double value = double(block[r * stride + j]);
            for (int o = 0; o < 8; ++o) sum[r][o] += value * weights[j * padded + o];
        }
    for (int r = 0; r < R; ++r)
        for (int o = 0; o < 8; ++o) out[r * out_stride + o] += sum[r][o];
}

template <class T> void multiply(std::ptrdiff_t rows, std::ptrdiff_t n, const T* block, std::ptrdiff_t stride,
                                 const double* weights, std::ptrdiff_t padded, double* out, std::ptrdiff_t out_stride) {
    if (padded == 1) {
        for (std::ptrdiff_t r = 0; r < rows; ++r) out[r * out_stride] += dot(n, block + r * stride, weights);
        return;
    }
    for (std::ptrdiff_t o = 0; o < padded; o += 8) {
        std::ptrdiff_t r = 0;
        for (; r + 4 <= rows; r += 4)
            multiply_rows<T, 4>(n, block + r * stride, stride, weights + o, padded, out + r * out_stride + o,
                                out_stride);
        for (; r < rows; ++r)
            multiply_rows<T, 1>(n, block + r * stride, stride, weights + o, padded, out + r * out_stride + o,
                                out_stride);
    }
}

} // namespace mercer::MERCER_ISA
