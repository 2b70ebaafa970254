// Problems on one Gram matrix, solved and certified: in single precision where that is enough, and on in double
// precision where the certificate says that it was not.
#pragma once

#include "gram/matrices.hpp"
#include "solvers/certificate.hpp"
#include "solvers/decomposition.hpp"

#include <memory>
#include <vector>

namespace mercer {

// One problem with its answer. `a` is where to begin, is made feasible and improved in place; `f` becomes K a.
struct ProblemRun {
    Problem problem;
    double total[2] = {};
    double *a = nullptr, *f = nullptr;
    bool finished = false; // false if an interruption came first; a and f belong together even then, once begun
    bool begun = false;
    Solved solved;
    Certificate certificate;
    int bits = 64; // the precision in which it ended
};

// Rows computed for one solve are kept by the matrix for the next. Throws Interrupted if asked to stop.
void solve(const Matrices& matrices, std::vector<ProblemRun>& runs, const Settings& settings);

} // namespace mercer
