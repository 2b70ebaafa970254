// The proof that comes with a solution, computed in double precision from the coefficients as they are. With
// u = q - K a, the primal problem behind problem.hpp is to minimise over w and b
//
//   1/2 |w|^2 + sum_p loss_p(u_p - b) + b total
//   loss_p(u) = max over lower <= a <= upper of   u a - l1 |a| - ridge a^2 / 2
#pragma once

#include "solvers/problem.hpp"

namespace mercer {

struct Certificate {
    double primal = 0, dual = 0;
    // The largest slope upwards minus the smallest downwards, over the groups; with no group, 0 is among both.
    double violation = 0;
    double bias[2] = {}; // per group: the best for these coefficients
};

// f is K a for each coefficient's sample; total[g] what the coefficients of group g are to sum to.
Certificate certify(const Problem& problem, const double* a, const double* f, const double* total);
// Its dual objective alone.
double dual(const Problem& problem, const double* a, const double* f);

} // namespace mercer
