// Two coefficients of one sample, as nu-SVR has them: one that rises from zero and one that falls. What both hold
// cancels and may be with any sample without a change of K a, but no two coefficients can carry it from sample to
// sample without one, against the k(x, x) of both. So steps of two coefficients are stuck where k(x, x) is steep.
#pragma once

#include "solvers/problem.hpp"
#include "solvers/problem_matrix.hpp"

#include <utility>
#include <vector>

namespace mercer {

class PairedCoefficients {
  public:
    // Moves what pairs hold to those with the least k(x, x).
    template <class T> void settle(const Problem& problem, const ProblemMatrix<T>& rows, double* a);

  private:
    template <class T> void find(const Problem& problem, const ProblemMatrix<T>& rows);
    std::vector<std::pair<Index, Index>> pairs_; // the least k(x, x) first
};

} // namespace mercer
