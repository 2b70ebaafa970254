// Tiles of integers: samples of small ones, as many of 16 or of 8 bits as fit into a T, so that a tile multiplies two
// to eight times as many coordinates per instruction, and exactly. Part of variant.cpp and bytes.cpp, whose rule on
// names holds here.
#pragma once

#include "kernels/isa.hpp"
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
template <class T> Ints splat_ints(const T* p) {
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

// Inner products of signed words.
struct WordProducts {
    static Ints add(Ints c, Ints a, Ints b) { return c + multiply_words(a, b); }
};
// Inner products of unsigned bytes of rows and signed bytes of columns.
struct ByteProducts {
    static Ints add(Ints c, Ints a, Ints b) {
#if defined(__AVX512VNNI__)
        if constexpr (sizeof(Ints) == 64) return Ints(_mm512_dpbusd_epi32(__m512i(c), __m512i(a), __m512i(b)));
#endif
        for (int shift = 0; shift < 32; shift += 8) c += ((a >> shift) & 255) * ((b << (24 - shift)) >> 24);
        return c;
    }
};

template <class T, class Integers, int R>
void integers_tile_rows(std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    constexpr int L = Simd<T>::lanes, MR = kRows<T>, NR = kColumns<T>;
    Ints c[R][2] = {};
#pragma GCC unroll 4
    for (std::ptrdiff_t k = 0; k < depth; ++k, a += MR, b += NR) {
        const Ints b0 = load_ints(b), b1 = load_ints(b + L);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            const Ints ai = splat_ints(a + i);
            c[i][0] = Integers::add(c[i][0], ai, b0);
            c[i][1] = Integers::add(c[i][1], ai, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        T* p = acc + i * NR;
        store_ints(p, first ? c[i][0] : c[i][0] + load_ints(p));
        store_ints(p + L, first ? c[i][1] : c[i][1] + load_ints(p + L));
    }
}
template <class T, class Integers, int R>
void integers_tile(int rows, std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    if constexpr (R > 1) {
        if (rows < R) return integers_tile<T, Integers, R - 1>(rows, depth, a, b, acc, first);
    }
    integers_tile_rows<T, Integers, R>(depth, a, b, acc, first);
}
template <class T, class Integers> struct IntegerProducts : Integers {
    using V = Ints;
    static V load(const T* p) { return load_ints(p); }
    static V splat(const T* p) { return splat_ints(p); }
    static void store(T* p, V v) { store_ints(p, v); }
};
template <class T, class Integers> constexpr IntegerTiles<T> integer_tiles() {
    constexpr int kAbreast = MERCER_VECTOR_BYTES == 64 ? 2 : 4;
    return {integers_tile<T, Integers, kRows<T>>, lists<T, IntegerProducts<T, Integers>, 1, kAbreast>()};
}

template <class T, int R> void integer_distances_of(const T* row_squares, const T* column_squares, T unit,
                                                    const Step* step, const Step* end, T* tile) {
    using S = Simd<T>;
    constexpr int L = S::lanes;
    const Ints c[2] = {load_ints(column_squares), load_ints(column_squares + L)};
    typename S::V v[2 * R];
    for (int u = 0; u < 2 * R; ++u) {
        const Ints dot = load_ints(tile + u * L);
        v[u] = summed(splat_ints(row_squares + u / 2) + c[u % 2] - (dot + dot), T()) * unit;
    }
    run<T>(step, end, v);
    for (int u = 0; u < 2 * R; ++u) S::store(tile + u * L, v[u]);
}
template <class T> void integer_distances(int rows, const T* row_squares, const T* column_squares, T unit,
                                          const Step* step, const Step* end, T* tile) {
    constexpr int NR = kColumns<T>, R = kTogether / 2;
    int i = 0;
    for (; i + R <= rows; i += R)
        integer_distances_of<T, R>(row_squares + i, column_squares, unit, step, end, tile + i * NR);
    for (; i < rows; ++i) integer_distances_of<T, 1>(row_squares + i, column_squares, unit, step, end, tile + i * NR);
}

} // namespace mercer::MERCER_ISA
