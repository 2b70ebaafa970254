// Runs: elementwise functions of a piece of a row of a block, which compositions (composition.cpp) are made of beside
// the steps. Every one gives an entry the same bits wherever in a run it stands. Part of variant.cpp, whose rule on
// names holds here.
#pragma once

#include "kernels/isa.hpp"

#include <cstddef>

namespace mercer::MERCER_ISA {

template <class T> void add_run(std::size_t n, const T* __restrict from, T* __restrict to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = to[i] + from[i];
}
template <class T> void multiply_run(std::size_t n, const T* __restrict from, T* __restrict to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = to[i] * from[i];
}
// The product of the borders first: it is the same if the two sides change places.
template <class T> void multiply_borders_run(std::size_t n, T u, const T* __restrict v, T* __restrict to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = to[i] * (u * v[i]);
}
template <class T> void subtract_borders_run(std::size_t n, T u, const T* __restrict v, T* __restrict to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = to[i] - (u + v[i]);
}
template <class T> void inner_product_run(std::size_t n, T u, const T* __restrict v, T* __restrict to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = ((u + v[i]) - to[i]) * T(0.5);
}

template <class T> constexpr Runs<T> runs() {
    return {add_run<T>, multiply_run<T>, multiply_borders_run<T>, subtract_borders_run<T>, inner_product_run<T>};
}

} // namespace mercer::MERCER_ISA
