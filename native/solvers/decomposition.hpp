// Solves the problem of problem.hpp by decomposition: minimise over a working set, with the block of the matrix among
// it in memory (inner_solver.hpp); then correct the slopes of all coefficients with the rows of those that moved
// (problem_matrix.hpp); repeat until no pair of coefficients violates the optimality conditions by more than tol.
//
// Osuna, Freund and Girosi (1997); Joachims, "Making large-scale SVM learning practical" (1999). A problem that is
// small enough is its own working set. The working sets of a vast one are active sets, each of them decomposed in the
// same way: so most corrections reach the slopes of an active set only, and those of all coefficients are corrected
// once for many steps.
#pragma once

#include "gram/gram.hpp"
#include "solvers/problem.hpp"
#include "solvers/problem_matrix.hpp"

#include <functional>
#include <vector>

namespace mercer {

enum class Status { converged, step_limit, stopped, stalled, unbounded };

struct Progress {
    Index problem;    // its number among those solved together
    Index steps;      // so far
    double violation; // as known now
    double gap;       // between primal and dual objective
    Index working;    // coefficients in the working set
    Index count;      // coefficients of the problem
    Index computed;   // rows of the matrix computed
    Index kept;       // rows that may be kept
    int bits;         // of the matrix's entries
};

// The most steps of a solver that nobody has set a limit; it ends before if they take more than some minutes.
inline constexpr Index kMostSteps = 200'000'000;

inline constexpr Index kVast = 32768;

// A problem of up to this number of coefficients costs next to nothing. It is solved in double precision and finer than
// tol, which takes a few steps more: then the coefficients no longer depend on which of two equal ones the last bit of
// the matrix prefers.
inline constexpr Index kTiny = 200;

// Of the objectives: where rounding may have moved them by more, they are computed anew.
inline constexpr double kClose = 1e-6;

struct Settings {
    double tol = 1e-3;
    double close = kClose;
    Index vast = kVast;                            // a problem of more coefficients may be solved by active sets
    bool together = false;                         // whether each thread has a problem of its own ...
    std::size_t block = 0;                         // ... and then, the bytes for its working set, however many they are
    Index max_steps = -1;                          // up to kMostSteps if negative
    std::size_t budget = std::size_t(200) << 20;   // bytes for the matrix: packed samples, a block, and rows kept
    std::function<bool(const Progress&)> progress; // called now and then; true means stop
    std::function<bool()> stop = nullptr;          // asked before every round; true means stop
};

struct Solved {
    Status status = Status::converged;
    double violation = 0; // in the precision of the matrix
    Index steps = 0, rounds = 0, computed = 0;
    NegativeCurvature negative;

    void add(const Solved& more) {
        status = more.status, violation = more.violation, negative.lower(more.negative);
        steps += more.steps, rounds += more.rounds, computed += more.computed;
    }
};

// lent: rows that outlive this solve. a: feasible coefficients, improved in place. f: K a for each
// coefficient's sample; made here unless `started` says that it is given. Once `started` is true, f belongs to a,
// whatever happens, and what was done is added to `solved`. Both have problem.count entries.
template <class T> void decompose(const Gram<T>& gram, const LentRows<T>& lent, const Problem& problem,
                                  const double* total, const Settings& settings, Solved& solved, bool& started,
                                  double* a, double* f, Index number = 0);

} // namespace mercer
