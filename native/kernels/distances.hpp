// Squared distances: |x|^2 + |z|^2 - 2 x.z of a tile of inner products, with squares summed just as the tile sums, and
// by differences where that cancels. Part of variant.cpp, whose rule on names holds here.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/steps.hpp"
#include "kernels/tiles.hpp"

#include <cstddef>

namespace mercer::MERCER_ISA {

// The chunked order of tile(), and its very instructions, so that the distance of a sample to itself is
// exactly zero. `at(k, i)` gives coordinate k of sample i (or of a vector of samples).
template <class T, int Count, class At> void squares(std::ptrdiff_t depth, At at, typename Simd<T>::V (&total)[Count]) {
    using S = Simd<T>;
    const std::ptrdiff_t step = chunk<T>(depth);
    for (std::ptrdiff_t start = 0; start < depth; start += step) {
        std::ptrdiff_t stop = start + step < depth ? start + step : depth;
        typename S::V sum[Count] = {};
        for (std::ptrdiff_t k = start; k < stop; ++k)
#pragma GCC unroll 16
            for (int i = 0; i < Count; ++i) sum[i] = Dot::add<S>(sum[i], at(k, i), at(k, i));
#pragma GCC unroll 16
        for (int i = 0; i < Count; ++i) total[i] = sum[i] + total[i];
    }
}
// Whole vectors are loaded, so the panel must be followed by a vector's worth of readable memory.
template <class T> void row_squares(std::ptrdiff_t depth, const T* a, T* out) {
    constexpr int MR = kRows<T>, L = Simd<T>::lanes, count = (MR + L - 1) / L;
    typename Simd<T>::V total[count] = {};
    squares<T>(depth, [=](std::ptrdiff_t k, int i) { return Simd<T>::load(a + k * MR + i * L); }, total);
    for (int i = 0; i < MR; ++i) out[i] = total[i / L][i % L];
}
template <class T> void column_squares(std::ptrdiff_t depth, const T* b, T* out) {
    constexpr int NR = kColumns<T>, L = Simd<T>::lanes;
    typename Simd<T>::V total[2] = {};
    squares<T>(depth, [=](std::ptrdiff_t k, int j) { return Simd<T>::load(b + k * NR + j * L); }, total);
    for (int j = 0; j < 2; ++j) Simd<T>::store(out + j * L, total[j]);
}

// sum (scale (x - z))^2 from the samples themselves, differences first: no cancellation.
template <class T> T direct(std::ptrdiff_t depth, const T* x, const T* z, const T* scale) {
    using S = Simd<T>;
    constexpr std::ptrdiff_t L = S::lanes;
    typename S::V sum[4] = {};
    std::ptrdiff_t k = 0;
    for (; k + 4 * L <= depth; k += 4 * L)
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
            auto d = S::load(x + k + u * L) - S::load(z + k + u * L);
            if (scale) d = d * S::load(scale + k + u * L);
            sum[u] = sum[u] + d * d;
        }
    T lanes[L], total = 0;
    S::store(lanes, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (std::ptrdiff_t j = 0; j < L; ++j) total += lanes[j];
    for (; k < depth; ++k) {
        T d = x[k] - z[k];
        if (scale) d *= scale[k];
        total += d * d;
    }
    return total;
}

template <class T>
unsigned suspects(int rows, const T* row_squares, const T* column_squares, T slope, T offset, T* tile) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int NR = kColumns<T>, L = S::lanes;
    const V c[2] = {S::load(column_squares), S::load(column_squares + L)};
    const V zero = S::splat(T(0)), a = S::splat(slope), b = S::splat(offset);
    const auto any = [](typename S::I lanes) {
        typename S::Int all = 0;
        for (int l = 0; l < L; ++l) all |= lanes[l];
        return all != 0;
    };
    typename S::I found = S::splat_int(0);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < 2; ++j) {
            T* at = tile + i * NR + j * L;
            const V squares = S::splat(row_squares[i]) + c[j], dot = S::load(at);
            const V value = S::max(squares - (dot + dot), zero);
            found |= value < a * squares + b;
            S::store(at, value);
        }
    if (!any(found)) return 0;
    unsigned which = 0;
    for (int i = 0; i < rows; ++i) {
        const V square = S::splat(row_squares[i]);
        const T* at = tile + i * NR;
        const bool here = any((S::load(at) < a * (square + c[0]) + b) | (S::load(at + L) < a * (square + c[1]) + b));
        which |= unsigned(here) << i;
    }
    return which;
}

// Rows of a tile at a time, each of two vectors.
template <class T, int R>
void distances_of(const T* row_squares, const T* column_squares, const Step* step, const Step* end, T* tile) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int L = S::lanes;
    const V c[2] = {S::load(column_squares), S::load(column_squares + L)};
    V v[2 * R];
    for (int u = 0; u < 2 * R; ++u) {
        const V dot = S::load(tile + u * L);
        v[u] = S::max((row_squares[u / 2] + c[u % 2]) - (dot + dot), S::splat(T(0)));
    }
    run<T>(step, end, v);
    for (int u = 0; u < 2 * R; ++u) S::store(tile + u * L, v[u]);
}
template <class T>
void distances(int rows, const T* row_squares, const T* column_squares, const Step* step, const Step* end, T* tile) {
    constexpr int NR = kColumns<T>, R = kTogether / 2;
    int i = 0;
    for (; i + R <= rows; i += R) distances_of<T, R>(row_squares + i, column_squares, step, end, tile + i * NR);
    for (; i < rows; ++i) distances_of<T, 1>(row_squares + i, column_squares, step, end, tile + i * NR);
}

} // namespace mercer::MERCER_ISA
