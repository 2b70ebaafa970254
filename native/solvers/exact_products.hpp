// K a in double precision, where it was found in another: for as many coefficients as a certificate needs, and for each
// of them once.
#pragma once

#include "gram/gram.hpp"
#include "solvers/problem.hpp"

#include <cstdint>
#include <vector>

namespace mercer {

class ExactProducts {
  public:
    // f is K a in the other precision, and made exact in place; a stays as it is.
    ExactProducts(const Gram<double>& exact, const Problem& problem, const double* a, double* f);

    // Each says for how many coefficients it computed anew.
    // Wherever such errors of the entries of the matrix could change the violation.
    Index violators(const EntryErrors& errors);
    // Of the coefficients that are not zero: at the optimum the objectives depend on no others.
    Index support();
    Index all();

  private:
    Index compute(const std::vector<Index>& where);

    const Gram<double>& exact_;
    const Problem& problem_;
    const double* a_;
    double* f_;
    std::vector<std::uint8_t> known_;         // whether f is exact
    std::vector<Index> nonzero_, supporting_; // coefficients, and their samples ...
    std::vector<double> weight_;              // ... and values
};

} // namespace mercer
