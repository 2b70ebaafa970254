// Reductions: what each `Reduction` of formula.hpp adds to its total for one coordinate of two samples, for as many
// pairs of samples at a time as a vector has lanes. add() takes one coordinate, add2() two, add_one() one and a vector
// of ones. Part of variant.cpp, whose rule on names holds here.
#pragma once

#include "kernels/simd.hpp"

namespace mercer::MERCER_ISA {

struct Dot {
    template <class S, class V> static V add(V acc, V a, V b) { return acc + a * b; }
};
struct SquaredDirect {
    template <class S, class V> static V add(V acc, V a, V b) {
        V d = a - b;
        return acc + d * d;
    }
};
// Additions and comparisons share half of the arithmetic units of many processors. Where there is a fused
// multiply-add, times one (a one that the compiler cannot see) lets the other half take a part, at the same rounding.
#if defined(__FMA__)
template <class T> const volatile T kOne = T(1);
template <class S, class V> V plus(V a, V b, V one) { return a * one + b; }
template <class S, class V> V minus(V a, V b, V one) { return S::fused_minus(a, one, b); }
#else
template <class T> constexpr T kOne = T(1);
template <class S, class V> V plus(V a, V b, V) { return a + b; }
template <class S, class V> V minus(V a, V b, V) { return a - b; }
#endif
struct L1 {
    template <class S, class V> static V add_one(V acc, V a, V b, V one) { return plus<S>(S::abs(a - b), acc, one); }
};
struct Linf {
    template <class S, class V> static V add_one(V acc, V a, V b, V one) {
        return S::max(acc, S::abs(minus<S>(a, b, one)));
    }
};
struct Intersection {
    template <class S, class V> static V add_one(V acc, V a, V b, V one) { return plus<S>(S::min(a, b), acc, one); }
};
// Two fractions at a time over their common denominator: division is the slow part. A denominator of zero, whose
// numerator is zero too, becomes one.
template <class S, class V> V fractions(V n0, V s0, V n1, V s1) {
    using T = decltype(n0[0] + 0);
    const V zero = S::splat(T(0)), one = S::splat(T(1));
    s0 = S::select(s0 == zero, one, s0);
    s1 = S::select(s1 == zero, one, s1);
    return (n0 * s1 + n1 * s0) / (s0 * s1);
}
struct Chi2 {
    template <class S, class V> static V add2(V acc, V a0, V b0, V a1, V b1) {
        V sum = fractions<S>(a0 * b0, a0 + b0, a1 * b1, a1 + b1);
        return acc + (sum + sum);
    }
};
struct Chi2Distance {
    template <class S, class V> static V add2(V acc, V a0, V b0, V a1, V b1) {
        V d0 = a0 - b0, d1 = a1 - b1;
        return acc + fractions<S>(d0 * d0, a0 + b0, d1 * d1, a1 + b1);
    }
};
template <class T> constexpr T kTiny = sizeof(T) == 4 ? T(1.17549435e-38) : T(2.2250738585072014e-308);
// With r = min/max, the term is max ((1 + r) log2(1 + r) - r log2 r) / 2: a sum of non-negative parts.
struct JensenShannon {
    template <class S, class V> static V add(V acc, V a, V b) {
        using T = decltype(a[0] + 0);
        V one = S::splat(T(1));
        V high = S::max(a, b);
        V r = S::min(a, b) / (high + S::splat(kTiny<T>));
        V u = one + r;
        V log_u = S::log(u) + (r - (u - one)) / u;
        V log_r = S::log(S::max(r, S::splat(kTiny<T>)));
        return acc + high * (u * log_u - r * log_r) * S::splat(T(0.72134752044448170368));
    }
};
struct Equal {
    template <class S, class V> static V add(V acc, V a, V b) {
        using T = decltype(a[0] + 0);
        return acc + S::select(a == b, S::splat(T(1)), S::splat(T(0)));
    }
};

} // namespace mercer::MERCER_ISA
