// Sequential minimal optimisation on a matrix held in memory: the innermost solver, for a working set or for a whole
// problem that is small enough.
//
// Platt, "Fast training of support vector machines using sequential minimal optimization" (1999), with the choice of
// the pair by second-order information of Fan, Chen and Lin, "Working set selection using second order information
// for training support vector machines" (JMLR 2005), written for signed coefficients:
//
//   i = the coefficient that may rise with the largest slope
//   j = the one that may fall with the largest (slope_i - slope_j)^2 / (K_ii + K_jj - 2 K_ij)
//   a_i += t, a_j -= t,  t = (slope_i - slope_j) / (K_ii + K_jj - 2 K_ij), cut at the bounds
//   slopes -= t (K_i - K_j)
#pragma once

#include "memory/buffer.hpp"
#include "memory/slab.hpp"
#include "solvers/problem.hpp"
#include "solvers/scan.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace mercer {

struct Outcome {
    Index steps = 0;
    double violation = 0; // largest slope upwards minus smallest downwards, as believed in this precision
    bool unbounded = false;
    std::exception_ptr interrupted; // set by whoever goes on with the steps so far
};

template <class T> class InnerSolver {
  public:
    // The coefficients to work on, with the diagonal of their K. Their matrix is in memory as `read_from` says, or
    // `make_room` makes room for it: then it is either filled, all of it, or its rows are fetched when they are first
    // needed, a few at a time.
    void choose(const Problem& problem, const std::vector<Index>& which, const std::vector<double>& diagonal);
    void make_room();
    // Whether rows that were fetched for so many coefficients are still there; then fetch_with() leaves them.
    bool has_rows() const { return size_ > 0 && Index(ready_.size()) == size_; }
    // Writes these rows, or all of the matrix if it returns true. With `ahead` more rows are asked for than are needed,
    // as several cost little more than one.
    using Fetch = std::function<bool(const std::vector<Index>& which, const std::vector<T*>& rows)>;
    void fetch_with(Fetch fetch, bool ahead = true);
    // Or the rows stand in memory already, this far from each other.
    void read_from(const T* rows, Index stride) { there_ = rows, there_stride_ = stride; }
    T* matrix() { return static_cast<T*>(matrix_.data()); }
    Index stride() const { return stride_; }
    const T* row(Index i);
    Index fetched() const { return fetched_; }

    // Minimises over these coefficients, from a and the slopes given, until the violation is at most tol. The outcome
    // is that of the steps so far if an interruption comes between.
    void solve(const std::vector<double>& a, const std::vector<double>& slopes, double tol, Index max_steps,
               Outcome& outcome);
    Outcome solve(const std::vector<double>& a, const std::vector<double>& slopes, double tol, Index max_steps) {
        Outcome outcome;
        solve(a, slopes, tol, max_steps, outcome);
        return outcome;
    }
    const std::vector<double>& a() const { return a_; }
    // Among all pairs moved so far.
    const NegativeCurvature& negative_curvature() const { return negative_; }

  private:
    void fetch(Index i);
    void add_likely(std::vector<Index>& which) const;
    void refresh(Index i);
    bool advance(Index i, Index j);

    const Problem* problem_ = nullptr;
    std::vector<Index> which_;
    Index size_ = 0, stride_ = 0;
    Slab matrix_;
    const T* there_ = nullptr;
    Index there_stride_ = 0;
    Fetch fetch_;
    bool ahead_ = false;
    std::vector<Index> wanted_; // of one fetch
    std::vector<T*> places_;
    std::vector<std::uint8_t> ready_; // rows, where they are fetched one by one
    Index fetched_ = 0;
    std::vector<double> given_; // the diagonal
    Buffer<T> arrays_;
    T *slope_ = nullptr, *diagonal_ = nullptr, *rise_[2] = {}, *fall_[2] = {};
    std::vector<double> a_;
    NegativeCurvature negative_;
};

} // namespace mercer
