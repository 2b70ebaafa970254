// Steps: the elementwise functions (`Op` of formula.hpp) that turn the reduction of two samples into their kernel, on
// vectors that are in registers anyway. Part of variant.cpp, whose rule on names holds here.
#pragma once

#include "kernels/formula.hpp"
#include "kernels/simd.hpp"

#include <cstddef>

namespace mercer::MERCER_ISA {

// A parameter in the precision of the values. One too large for it becomes the largest, so that 0 times it is 0.
template <class T> T narrow(double value) {
    constexpr double largest = sizeof(T) == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308;
    return T(value > largest ? largest : value < -largest ? -largest : value);
}

// Applies the steps to U vectors held in registers; several at a time hide the latency of exp and log. Three rows of a
// tile are six vectors.
constexpr int kTogether = 6;
template <class T, int U> void run(const Step* step, const Step* end, typename Simd<T>::V (&v)[U]) {
    using S = Simd<T>;
    using V = typename S::V;
    const V one = S::splat(T(1)), zero = S::splat(T(0));
    auto each = [&](auto f) {
#pragma GCC unroll 6
        for (int u = 0; u < U; ++u) v[u] = f(v[u]);
    };
    for (; step != end; ++step) {
        const V a = S::splat(narrow<T>(step->a)), b = S::splat(narrow<T>(step->b));
        switch (step->op) {
        case Op::affine: each([=](V x) { return a * x + b; }); break;
        case Op::exp: each([=](V x) { return S::exp(a * x); }); break;
        case Op::tanh: each([](V x) { return S::tanh(x); }); break;
        case Op::integer: {
            auto e = static_cast<unsigned long long>(step->a);
            if (e == 0) each([=](V) { return one; });
            for (; e > 1 && !(e & 1); e >>= 1) each([](V x) { return x * x; });
            if (e <= 1) break;
            V base[U];
            for (int u = 0; u < U; ++u) base[u] = v[u];
            while (e >>= 1)
                for (int u = 0; u < U; ++u) {
                    base[u] = base[u] * base[u];
                    if (e & 1) v[u] = v[u] * base[u];
                }
            break;
        }
        case Op::power:
            if (step->a == 0.5)
                each([](V x) { return S::sqrt(x); });
            else
                each([=](V x) { return S::select(x == zero, zero, S::exp(a * S::log(x))); });
            break;
        case Op::decay: // exp(-a log(1 + b v)), the logarithm corrected for the rounding of 1 + b v
            each([=](V x) {
                V t = S::min(S::splat(T(sizeof(T) == 4 ? 1e38 : 1e308)), b * x), u = one + t; // never infinity
                return S::exp(-a * (S::log(u) + (t - (u - one)) / u));
            });
            break;
        case Op::matern32:
            each([=](V x) {
                V t = S::min(S::splat(T(1e15)), a * S::sqrt(x)); // never infinity times zero
                return (one + t) * S::exp(-t);
            });
            break;
        case Op::matern52:
            each([=](V x) {
                V t = S::min(S::splat(T(1e15)), a * S::sqrt(x));
                return (one + t + t * t * S::splat(T(1.0 / 3))) * S::exp(-t);
            });
            break;
        case Op::series:
            each([=](V x) {
                V p = zero;
                for (std::size_t j = step->c.size(); j-- > 0;) p = p * x + S::splat(T(step->c.data()[j]));
                return p;
            });
            break;
        case Op::is_zero: each([=](V x) { return S::select(x == zero, one, zero); }); break;
        }
    }
}

template <class T, int U> void apply_some(const Step* step, const Step* end, T* values) {
    using S = Simd<T>;
    typename S::V v[U];
    for (int u = 0; u < U; ++u) v[u] = S::load(values + u * S::lanes);
    run<T>(step, end, v);
    for (int u = 0; u < U; ++u) S::store(values + u * S::lanes, v[u]);
}
template <class T> void apply(const Step* step, const Step* end, T* values, std::size_t n) {
    constexpr std::size_t L = Simd<T>::lanes;
    std::size_t i = 0;
    for (; i + kTogether * L <= n; i += kTogether * L) apply_some<T, kTogether>(step, end, values + i);
    for (; i + 2 * L <= n; i += 2 * L) apply_some<T, 2>(step, end, values + i);
    for (; i < n; i += L) {
        T lanes[L] = {};
        const std::size_t count = n - i < L ? n - i : L;
        for (std::size_t j = 0; j < count; ++j) lanes[j] = values[i + j];
        apply_some<T, 1>(step, end, lanes);
        for (std::size_t j = 0; j < count; ++j) values[i + j] = lanes[j];
    }
}

} // namespace mercer::MERCER_ISA
