// Tiles: a reduction over the coordinates of kRows samples and kColumns others, held in registers from the first
// coordinate of a chunk to the last. This is where a kernel matrix spends its time. Part of variant.cpp, whose rule on
// names holds here.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/reductions.hpp"

#include <cstddef>
#include <cstdint>

namespace mercer::MERCER_ISA {

template <class T> constexpr int kRows = MERCER_TILE_ROWS;
template <class T> constexpr int kColumns = 2 * Simd<T>::lanes;

template <class T, class Terms, int R>
void tile_rows(std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int L = S::lanes, MR = kRows<T>, NR = kColumns<T>;
    V c[R][2] = {};
    if constexpr (requires { &Terms::template add2<S, V>; }) { // coordinates in twos; a last single one beside zeros
        for (std::ptrdiff_t k = 0; k < depth; k += 2) {
            const bool both = k + 1 < depth;
            V b0[2] = {S::load(b), S::load(b + L)};
            V b1[2] = {both ? S::load(b + NR) : V{}, both ? S::load(b + NR + L) : V{}};
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i) {
                V a0 = S::splat(a[i]), a1 = S::splat(both ? a[MR + i] : T(0));
                for (int j = 0; j < 2; ++j) c[i][j] = Terms::template add2<S>(c[i][j], a0, b0[j], a1, b1[j]);
            }
            a += 2 * MR;
            b += 2 * NR;
        }
    } else {
        [[maybe_unused]] const V one = S::splat(kOne<T>);
#pragma GCC unroll 4
        for (std::ptrdiff_t k = 0; k < depth; ++k) {
            V b0 = S::load(b), b1 = S::load(b + L);
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i) {
                V ai = S::splat(a[i]);
                if constexpr (requires { &Terms::template add_one<S, V>; }) {
                    c[i][0] = Terms::template add_one<S>(c[i][0], ai, b0, one);
                    c[i][1] = Terms::template add_one<S>(c[i][1], ai, b1, one);
                } else {
                    c[i][0] = Terms::template add<S>(c[i][0], ai, b0);
                    c[i][1] = Terms::template add<S>(c[i][1], ai, b1);
                }
            }
            a += MR;
            b += NR;
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        T* p = acc + i * NR;
        if (!first) {
            if constexpr (__is_same(Terms, Linf)) {
                c[i][0] = S::max(c[i][0], S::load(p));
                c[i][1] = S::max(c[i][1], S::load(p + L));
            } else {
                c[i][0] = c[i][0] + S::load(p);
                c[i][1] = c[i][1] + S::load(p + L);
            }
        }
        S::store(p, c[i][0]);
        S::store(p + L, c[i][1]);
    }
}

// What a sum of products of numbers is made of; those of integers are in integer_tiles.hpp.
template <class T> struct Numbers {
    using V = typename Simd<T>::V;
    static V load(const T* p) { return Simd<T>::load(p); }
    static V splat(const T* p) { return Simd<T>::splat(*p); }
    static V add(V c, V a, V b) { return Dot::add<Simd<T>>(c, a, b); }
    static void store(T* p, V v) { Simd<T>::store(p, v); }
};

// Lists of R rows, and P panels. Fewer rows have fewer coordinates in which some of them are not zero, but a number of
// a column is loaded for fewer products: with integers one row is best, with numbers as many as a tile has.
template <class T, class Products, int R, int P> void sum_list(std::ptrdiff_t count, const std::uint16_t* which,
                                                               const T* values, const T* b, std::ptrdiff_t stride,
                                                               T* acc, std::ptrdiff_t acc_stride, bool first) {
    using V = typename Products::V;
    constexpr int L = Simd<T>::lanes, NR = kColumns<T>;
    V c[R][2 * P] = {};
#pragma GCC unroll 2
    for (std::ptrdiff_t k = 0; k < count; ++k, values += R) {
        const T* at = b + std::ptrdiff_t(which[k]) * NR;
        V bk[2 * P];
#pragma GCC unroll 8
        for (int j = 0; j < 2 * P; ++j) bk[j] = Products::load(at + j / 2 * stride + j % 2 * L);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            const V ai = Products::splat(values + i);
#pragma GCC unroll 8
            for (int j = 0; j < 2 * P; ++j) c[i][j] = Products::add(c[i][j], ai, bk[j]);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
        for (int j = 0; j < 2 * P; ++j) {
            T* p = acc + i * NR + j / 2 * acc_stride + j % 2 * L;
            Products::store(p, first ? c[i][j] : c[i][j] + Products::load(p));
        }
}
template <class T, class Products, int R, int P> void sum_lists(const Nonzeros<T>& x, int panels, const T* b,
                                                                std::ptrdiff_t stride, T* acc,
                                                                std::ptrdiff_t acc_stride, bool first) {
    if constexpr (P > 1) {
        if (panels < P) return sum_lists<T, Products, R, P - 1>(x, panels, b, stride, acc, acc_stride, first);
    }
    for (std::ptrdiff_t l = 0; l < x.lists; ++l)
        sum_list<T, Products, R, P>(x.length[l], x.which + l * x.depth, x.values + l * x.depth * R, b, stride,
                                    acc + l * R * kColumns<T>, acc_stride, first);
}
template <class T, class Products, int R, int P> constexpr Lists<T> lists() {
    return {R, P, sum_lists<T, Products, R, P>};
}

// Reductions with add_one need more registers than a dot product; with 16 of them, half of a tile at a time fits.
constexpr int kPass = MERCER_VECTOR_BYTES == 64 ? MERCER_TILE_ROWS : 3;

// Panels are always MR wide, but only the live rows are computed: a single row costs a single row.
template <class T, class Terms, int R>
void tile(int rows, std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    if constexpr (R > 1) {
        if (rows < R) return tile<T, Terms, R - 1>(rows, depth, a, b, acc, first);
    }
    if constexpr (R > kPass && requires { &Terms::template add_one<Simd<T>, typename Simd<T>::V>; }) {
        tile_rows<T, Terms, kPass>(depth, a, b, acc, first);
        tile_rows<T, Terms, R - kPass>(depth, a + kPass, b, acc + kPass * kColumns<T>, first);
    } else {
        tile_rows<T, Terms, R>(depth, a, b, acc, first);
    }
}

} // namespace mercer::MERCER_ISA
