// What one instruction set provides to the SMO solver: the passes over all coefficients that every step makes.
#pragma once

#include "kernels/isa.hpp"

#include <cstddef>

namespace mercer {

// Lengths are multiples of this; what is beyond the coefficients can neither rise nor fall.
inline constexpr std::ptrdiff_t kScanUnit = 16;

// So many rows are added at once.
inline constexpr std::ptrdiff_t kAccumulated = 4;

template <class T> struct Extreme {
    T value;
    std::ptrdiff_t where;
};
template <class T> struct Partner {
    T gain;   // the largest (slope difference)^2 / curvature, negative if no coefficient may fall
    T lowest; // the smallest slope among those that may fall
    std::ptrdiff_t where;
};

template <class T> struct Scans {
    // The largest slope + rise: rise is -infinity for what may not rise.
    Extreme<T> (*largest)(std::ptrdiff_t n, const T* slope, const T* rise);
    // slope -= a u + b v first.
    Extreme<T> (*step)(std::ptrdiff_t n, T* slope, T a, const T* u, T b, const T* v, const T* rise);
    // The best partner for coefficient i, whose slope is `top` and whose row and diagonal entry are given, by second
    // order: fall is +infinity for what may not fall.
    Partner<T> (*partner)(std::ptrdiff_t n, const T* slope, const T* fall, const T* row, const T* diagonal, T own,
                          T top);
    // f[j] += sum_r delta[r] rows[r][j]. To do so for a multiple of kAccumulated rows, and then for the rest, gives the
    // same bits.
    void (*accumulate)(std::ptrdiff_t count, std::ptrdiff_t n, const T* const* rows, const double* delta, double* f);
};

template <class T> const Scans<T>& scans();

} // namespace mercer
