// Problems on one Gram matrix, solved and certified: in single precision where that is enough, and on in double
// precision where the certificate says that it was not.
#pragma once

#include "gram/matrices.hpp"
#include "solvers/certificate.hpp"
#include "solvers/decomposition.hpp"
#include "solvers/inner_solver.hpp"

#include <functional>
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
    bool known = false; // whether all of f is K a in single precision already: then it is not computed
    bool plain = false; // whether all of f is K a in single precision, none of it made exact
    Solved solved;
    Certificate certificate;
    int bits = 64; // the precision in which it ended
    // Rows in single precision that its next problem, on the same samples, will want.
    std::shared_ptr<InnerSolver<float>> block = nullptr;
    // Told that it is solved; makes another problem of it, if there is one, and says so.
    std::function<bool(ProblemRun&)> next = nullptr;
};

// Rows computed for one solve are kept by the matrix for the next. Throws Interrupted if asked to stop.
void solve(const Matrices& matrices, std::vector<ProblemRun>& runs, const Settings& settings);

} // namespace mercer
