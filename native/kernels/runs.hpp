// Runs: elementwise functions of a piece of a row of a block, which compositions (composition.cpp) are made of beside
// the steps. Every one gives an entry the same bits wherever in a run it stands. What is read may be what is written.
// Part of variant.cpp, whose rule on names holds here.
#pragma once

#include "kernels/isa.hpp"
#include "kernels/simd.hpp"

#include <cstddef>

namespace mercer::MERCER_ISA {

// to[i] = f(a[i], b[i]), of vectors and, at the end, of numbers.
template <class T, class F> void each(std::size_t n, const T* a, const T* b, T* to, F f) {
    using S = Simd<T>;
    constexpr std::size_t L = S::lanes;
    std::size_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) {
        const auto first = f(S::load(a + i), S::load(b + i)), second = f(S::load(a + i + L), S::load(b + i + L));
        S::store(to + i, first);
        S::store(to + i + L, second);
    }
    for (; i < n; ++i) to[i] = f(a[i], b[i]);
}

template <class T> void add_run(std::size_t n, const T* a, const T* b, T* to) {
    each(n, a, b, to, [](auto x, auto y) { return x + y; });
}
template <class T> void multiply_run(std::size_t n, const T* a, const T* b, T* to) {
    each(n, a, b, to, [](auto x, auto y) { return x * y; });
}
// The product of the borders first: it is the same if the two sides change places.
template <class T> void multiply_borders_run(std::size_t n, T u, const T* v, const T* from, T* to) {
    each(n, from, v, to, [u](auto x, auto y) { return x * (u * y); });
}
template <class T> void subtract_borders_run(std::size_t n, T u, const T* v, const T* from, T* to) {
    each(n, from, v, to, [u](auto x, auto y) { return x - (u + y); });
}
template <class T> void inner_product_run(std::size_t n, T u, const T* v, const T* from, T* to) {
    each(n, from, v, to, [u](auto x, auto y) { return ((u + y) - x) * T(0.5); });
}

template <class T> constexpr Runs<T> runs() {
    return {add_run<T>, multiply_run<T>, multiply_borders_run<T>, subtract_borders_run<T>, inner_product_run<T>};
}

} // namespace mercer::MERCER_ISA
