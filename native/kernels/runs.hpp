// Runs: elementwise functions of a piece of a row of a block, which compositions (composition.cpp) are made of beside
// the steps. Every one gives an entry the same bits wherever in a run it stands. What is read may be what is written.
// Part of variant.cpp, whose rule on names holds here.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/simd.hpp"
#include "kernels/steps.hpp"

#include <cstddef>

namespace mercer::MERCER_ISA {

// to[i] = f(from[i] ...); the last ones among zeros, as a number by itself might be rounded otherwise than in a vector.
template <class T, class F, class... From> void each(std::size_t n, T* to, F f, const From*... from) {
    using S = Simd<T>;
    constexpr std::size_t L = S::lanes;
    std::size_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) {
        const auto first = f(S::load(from + i)...), second = f(S::load(from + i + L)...);
        S::store(to + i, first);
        S::store(to + i + L, second);
    }
    for (; i < n; i += L) {
        const std::size_t count = n - i < L ? n - i : L;
        const auto loaded = [&](const T* p) {
            T x[L] = {};
            for (std::size_t k = 0; k < count; ++k) x[k] = p[i + k];
            return S::load(x);
        };
        T x[L];
        S::store(x, f(loaded(from)...));
        for (std::size_t k = 0; k < count; ++k) to[i + k] = x[k];
    }
}

template <class T> void add_run(std::size_t n, const T* a, T factor, const T* b, T* to) {
    if (factor == T(1)) return each(n, to, [](auto x, auto y) { return x + y; }, a, b);
    each(n, to, [factor](auto x, auto y) { return x + factor * y; }, a, b);
}
template <class T> void multiply_run(std::size_t n, const T* a, const T* b, T* to) {
    each(n, to, [](auto x, auto y) { return x * y; }, a, b);
}
// The product of the borders first: it is the same if the two sides change places.
template <class T> void multiply_borders_run(std::size_t n, T u, const T* v, const T* from, T* to) {
    each(n, to, [u](auto x, auto y) { return x * (u * y); }, from, v);
}
template <class T> void subtract_borders_run(std::size_t n, T u, const T* v, const T* from, T* to) {
    each(n, to, [u](auto x, auto y) { return x - (u + y); }, from, v);
}
template <class T> void inner_product_run(std::size_t n, T u, const T* v, const T* from, T* to) {
    each(n, to, [u](auto x, auto y) { return ((u + y) - x) * T(0.5); }, from, v);
}

// f(a, term).
template <class T, class F>
void join_term(std::size_t n, const T* a, const PowerTerm<T>& term, const T* x, T* to, F f) {
    const T scale = term.scale, u = term.u;
    const auto run = [&](auto power) {
        each(
            n, to, [=](auto below, auto value, auto v) { return f(below, power(scale * value + (u + v))); }, a, x,
            term.v);
    };
    switch (term.power) {
    case 1: return run([](auto t) { return t; });
    case 2: return run([](auto t) { return t * t; });
    default: return run([](auto t) { return t * (t * t); });
    }
}
template <class T> void add_term_run(std::size_t n, const T* a, T factor, const PowerTerm<T>& term, const T* x, T* to) {
    join_term(n, a, term, x, to, [factor](auto below, auto t) { return below + factor * t; });
}
template <class T> void multiply_term_run(std::size_t n, const T* a, const PowerTerm<T>& term, const T* x, T* to) {
    join_term(n, a, term, x, to, [](auto below, auto t) { return below * t; });
}

template <class T> void steps_run(const Step* step, const Step* end, std::size_t n, const T* from, T* to) {
    using S = Simd<T>;
    constexpr std::size_t L = S::lanes;
    std::size_t i = 0;
    for (; i + kTogether * L <= n; i += kTogether * L) {
        typename S::V v[kTogether];
        for (int u = 0; u < kTogether; ++u) v[u] = S::load(from + i + u * L);
        run<T>(step, end, v);
        for (int u = 0; u < kTogether; ++u) S::store(to + i + u * L, v[u]);
    }
    if (from != to)
        for (std::size_t k = i; k < n; ++k) to[k] = from[k];
    apply<T>(step, end, to + i, n - i);
}

template <class T> constexpr Runs<T> runs() {
    return {add_run<T>,           multiply_run<T>, multiply_borders_run<T>, subtract_borders_run<T>,
            inner_product_run<T>, add_term_run<T>, multiply_term_run<T>,    steps_run<T>};
}

} // namespace mercer::MERCER_ISA
