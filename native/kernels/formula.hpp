// What a pairwise kernel is made of: one reduction over the coordinates of two samples,
// then a short list of elementwise steps. Gaussian = squared distance, times -gamma, exp.
#pragma once

#include "costs.hpp"

#include <cstdint>
#include <vector>

namespace mercer {

// The reduction r(x, z) over coordinates i.
enum class Reduction : int {
    dot,              // sum x z
    squared_distance, // sum (x - z)^2 through centred dot products, cancellation repaired
    squared_direct,   // sum (x - z)^2 by differences; for few coordinates
    l1,               // sum |x - z|
    linf,             // max |x - z|
    intersection,     // sum min(x, z)
    chi2,             // sum 2 x z / (x + z), 0/0 = 0
    chi2_distance,    // sum (x - z)^2 / (x + z), 0/0 = 0
    jensen_shannon,   // sum (x log2((x+z)/x) + z log2((x+z)/z)) / 2
    equal,            // number of coordinates with x == z
};
inline constexpr int kReductionCount = 10;

// What is known of a reduction, for whoever must not know it by name.
struct ReductionProperties {
    Reduction reduction;
    bool product; // an inner product: k(x, z)^2 <= k(x, x) k(z, z), and its rounding errors are relative to those norms
    bool distance; // never negative, and exactly 0 between a sample and itself
    int power;     // p, if it is the p-th power of a metric; 0 if of none
    bool movable;  // depends on the difference of two samples alone, so these can be moved first
    bool relative; // a sum of terms of one sign, or of none that cancel: accurate relative to itself
    double cost;   // of a coordinate, beside the steps: see costs.hpp
};
inline constexpr ReductionProperties kReductions[kReductionCount] = {
    {Reduction::dot, true, false, 0, false, false, costs::kProduct},
    {Reduction::squared_distance, false, true, 2, true, false, costs::kProduct},
    {Reduction::squared_direct, false, true, 2, true, true, costs::kProduct},
    {Reduction::l1, false, true, 1, true, true, costs::kNoProduct},
    {Reduction::linf, false, true, 1, true, true, costs::kNoProduct},
    {Reduction::intersection, false, false, 0, false, true, costs::kNoProduct},
    {Reduction::chi2, false, false, 0, false, true, costs::kNoProduct},
    {Reduction::chi2_distance, false, true, 2, false, true, costs::kNoProduct},
    {Reduction::jensen_shannon, false, false, 0, false, true, costs::kNoProduct},
    {Reduction::equal, false, false, 0, false, true, costs::kNoProduct},
};
constexpr const ReductionProperties& properties_of(Reduction reduction) {
    return kReductions[static_cast<int>(reduction)];
}

// An elementwise step applied to the reduced value v.
enum class Op : int {
    affine,   // a v + b
    integer,  // v^a, a a non-negative integer
    power,    // v^a for v >= 0, a real
    exp,      // e^(a v)
    tanh,     // tanh(v)
    decay,    // (1 + b v)^-a for b v >= 0
    matern32, // (1 + u) e^-u,           u = a sqrt(v)
    matern52, // (1 + u + u^2/3) e^-u,   u = a sqrt(v)
    series,   // sum c_j v^j
    is_zero,  // 1 if v == 0 else 0
};

struct Step {
    Op op;
    double a = 0.0;
    double b = 0.0;
    std::vector<double> c = {};
};

struct Formula {
    Reduction reduction = Reduction::dot;
    std::vector<Step> steps;
    // For squared_distance: the kernel falls at least like exp(-rate D^2), so entries with a large D^2
    // need no repair. Zero means that D^2 itself must be relatively accurate.
    double rate = 0.0;
};

} // namespace mercer
