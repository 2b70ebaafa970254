// Tiles of words: samples of small integers, as many 16-bit ones as fit into a T, so that a tile multiplies twice or
// four times as many coordinates per instruction, and exactly. Part of variant.cpp, whose rule on names holds here.
#pragma once

#include "kernels/steps.hpp"
#include "kernels/tiles.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mercer::MERCER_ISA {

using Ints = Simd<float>::I;
template <class T> Ints load_ints(const T* p) {
    Ints v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class T> void store_ints(T* p, Ints v) { std::memcpy(p, &v, sizeof v); }
template <class T> Ints splat_word(const T* p) {
    typename Simd<T>::Int word;
    std::memcpy(&word, p, sizeof word);
    return reinterpret_cast<Ints>(Simd<T>::splat_int(word));
}
// The sum of the 32-bit integers in the place of every T.
inline Simd<float>::V summed(Ints v, float) { return __builtin_convertvector(v, Simd<float>::V); }
inline Simd<double>::V summed(Ints v, double) {
    using S = Simd<double>;
    const S::I both = reinterpret_cast<S::I>(v), sum = ((both << 32) >> 32) + (both >> 32);
    return S::from_bits(sum + S::bits(S::magic())) - S::magic();
}
template <class I> I multiply_words(I a, I b) {
#if defined(__x86_64__)
    if constexpr (sizeof(I) == 16) return I(_mm_madd_epi16(__m128i(a), __m128i(b)));
#if defined(__AVX2__)
    if constexpr (sizeof(I) == 32) return I(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#endif
#if defined(__AVX512BW__)
    if constexpr (sizeof(I) == 64) return I(_mm512_madd_epi16(__m512i(a), __m512i(b)));
#endif
#endif
    const I low_a = (a << 16) >> 16, low_b = (b << 16) >> 16;
    return low_a * low_b + (a >> 16) * (b >> 16);
}

template <class T, int R> void words_tile_rows(std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    constexpr int L = Simd<T>::lanes, MR = kRows<T>, NR = kColumns<T>;
    Ints c[R][2] = {};
#pragma GCC unroll 4
    for (std::ptrdiff_t k = 0; k < depth; ++k, a += MR, b += NR) {
        const Ints b0 = load_ints(b), b1 = load_ints(b + L);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            const Ints ai = splat_word(a + i);
            c[i][0] += multiply_words(ai, b0);
            c[i][1] += multiply_words(ai, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        T* p = acc + i * NR;
        store_ints(p, first ? c[i][0] : c[i][0] + load_ints(p));
        store_ints(p + L, first ? c[i][1] : c[i][1] + load_ints(p + L));
    }
}
template <class T, int R> void words_tile(int rows, std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    if constexpr (R > 1) {
        if (rows < R) return words_tile<T, R - 1>(rows, depth, a, b, acc, first);
    }
    words_tile_rows<T, R>(depth, a, b, acc, first);
}
template <class T>
void words_listed(std::ptrdiff_t count, const std::int32_t* which, const T* a, const T* b, T* acc, bool first) {
    constexpr int L = Simd<T>::lanes, MR = kRows<T>, NR = kColumns<T>;
    Ints c[MR][2] = {};
#pragma GCC unroll 2
    for (std::ptrdiff_t k = 0; k < count; ++k, a += MR) {
        const T* at = b + std::ptrdiff_t(which[k]) * NR;
        const Ints b0 = load_ints(at), b1 = load_ints(at + L);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            const Ints ai = splat_word(a + i);
            c[i][0] += multiply_words(ai, b0);
            c[i][1] += multiply_words(ai, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i, acc += NR) {
        store_ints(acc, first ? c[i][0] : c[i][0] + load_ints(acc));
        store_ints(acc + L, first ? c[i][1] : c[i][1] + load_ints(acc + L));
    }
}
// Sums of squares of the samples of a panel, `Width` words apart. Whole vectors are loaded, so the panel must be
// followed by a vector's worth of readable memory.
template <class T, int Width> void word_squares(std::ptrdiff_t depth, const T* panel, T* out) {
    constexpr int L = Simd<T>::lanes, count = (Width + L - 1) / L;
    Ints total[count] = {};
    for (std::ptrdiff_t k = 0; k < depth; ++k)
        for (int i = 0; i < count; ++i) {
            const Ints words = load_ints(panel + k * Width + i * L);
            total[i] += multiply_words(words, words);
        }
    T sums[count * L];
    for (int i = 0; i < count; ++i) store_ints(sums + i * L, total[i]);
    std::memcpy(out, sums, sizeof(T) * Width);
}

template <class T, int R> void word_distances_of(const T* row_squares, const T* column_squares, T unit,
                                                 const Step* step, const Step* end, T* tile) {
    using S = Simd<T>;
    constexpr int L = S::lanes;
    const Ints c[2] = {load_ints(column_squares), load_ints(column_squares + L)};
    typename S::V v[2 * R];
    for (int u = 0; u < 2 * R; ++u) {
        const Ints dot = load_ints(tile + u * L);
        v[u] = summed(splat_word(row_squares + u / 2) + c[u % 2] - (dot + dot), T()) * unit;
    }
    run<T>(step, end, v);
    for (int u = 0; u < 2 * R; ++u) S::store(tile + u * L, v[u]);
}
template <class T> void word_distances(int rows, const T* row_squares, const T* column_squares, T unit,
                                       const Step* step, const Step* end, T* tile) {
    constexpr int NR = kColumns<T>, R = kTogether / 2;
    int i = 0;
    for (; i + R <= rows; i += R)
        word_distances_of<T, R>(row_squares + i, column_squares, unit, step, end, tile + i * NR);
    for (; i < rows; ++i) word_distances_of<T, 1>(row_squares + i, column_squares, unit, step, end, tile + i * NR);
}

} // namespace mercer::MERCER_ISA
