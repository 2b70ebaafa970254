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

// Rows of a tile at a time, each of two vectors.
template <class T, int R, bool Checked> unsigned distances_of(const T* row_squares, const T* column_squares, T slope,
                                                              T offset, const Step* step, const Step* end, T* tile) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int L = S::lanes;
    const V c[2] = {S::load(column_squares), S::load(column_squares + L)};
    V v[2 * R];
    typename S::I found[R];
    for (int u = 0; u < 2 * R; ++u) {
        const V dot = S::load(tile + u * L), squares = row_squares[u / 2] + c[u % 2];
        v[u] = S::max(squares - (dot + dot), S::splat(T(0)));
        const typename S::I close = v[u] < S::splat(slope) * squares + S::splat(offset);
        found[u / 2] = u % 2 ? found[u / 2] | close : close;
    }
    if constexpr (Checked) {
        typename S::I some = found[0];
        for (int r = 1; r < R; ++r) some |= found[r];
        if (S::any(some)) {
            unsigned which = 0;
            for (int r = 0; r < R; ++r) {
                V row[2] = {v[2 * r], v[2 * r + 1]};
                if (S::any(found[r]))
                    which |= 1u << r;
                else
                    run<T>(step, end, row);
                for (int j = 0; j < 2; ++j) S::store(tile + (2 * r + j) * L, row[j]);
            }
            return which;
        }
    }
    run<T>(step, end, v);
    for (int u = 0; u < 2 * R; ++u) S::store(tile + u * L, v[u]);
    return 0;
}
template <class T, bool Checked> unsigned distances(int rows, const T* row_squares, const T* column_squares, T slope,
                                                    T offset, const Step* step, const Step* end, T* tile) {
    constexpr int NR = kColumns<T>, R = kTogether / 2;
    unsigned which = 0;
    int i = 0;
    for (; i + R <= rows; i += R)
        which |= distances_of<T, R, Checked>(row_squares + i, column_squares, slope, offset, step, end, tile + i * NR)
                 << i;
    for (; i < rows; ++i)
        which |= distances_of<T, 1, Checked>(row_squares + i, column_squares, slope, offset, step, end, tile + i * NR)
                 << i;
    return which;
}
template <class T>
void distances(int rows, const T* row_squares, const T* column_squares, const Step* step, const Step* end, T* tile) {
    distances<T, false>(rows, row_squares, column_squares, T(0), T(0), step, end, tile);
}
template <class T> unsigned suspects(int rows, const T* row_squares, const T* column_squares, T slope, T offset,
                                     const Step* step, const Step* end, T* tile) {
    return distances<T, true>(rows, row_squares, column_squares, slope, offset, step, end, tile);
}

} // namespace mercer::MERCER_ISA
