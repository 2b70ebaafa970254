// What one instruction set provides to the linear solvers: rows of float32 or float64 against vectors of float64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer::linear {

template <class T> struct Loops {
    // sum_k x[k] w[k], and w += s x.
    double (*dot)(std::ptrdiff_t n, const T* x, const double* w);
    void (*add)(std::ptrdiff_t n, double s, const T* x, double* w);
    // f = X w and w += X'a, for `count` rows of X that begin `stride` numbers after each other.
    void (*dots)(std::ptrdiff_t count, std::ptrdiff_t n, std::ptrdiff_t stride, const T* x, const double* w, double* f);
    void (*adds)(std::ptrdiff_t count, std::ptrdiff_t n, std::ptrdiff_t stride, const double* a, const T* x, double* w);
    // dot and add for n stored entries of a sparse row.
    double (*sparse_dot)(std::ptrdiff_t n, const T* x, const std::int32_t* at, const double* w);
    void (*sparse_add)(std::ptrdiff_t n, double s, const T* x, const std::int32_t* at, double* w);
    // H += sign B'B, at least its lower triangle, for `depth` rows of B of length n, both with rows of `stride`
    // numbers. Rows are worked on in multiples of kPad numbers: B has zeros up to there, which are added to what
    // follows in H.
    void (*gram)(std::ptrdiff_t depth, std::ptrdiff_t n, std::ptrdiff_t stride, double sign, const double* B,
                 double* H);
};
inline constexpr std::ptrdiff_t kPad = 16;

template <class T> const Loops<T>& loops(); // of the instruction set in use

} // namespace mercer::linear
