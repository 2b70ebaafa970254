// Linear machines, solved through their weights instead of a Gram matrix.
//
// Rows x_i are extended by a constant s (the intercept, which is penalised like any weight); s = 0 means none. With
// K = X X' of the extended rows, the dual problem is the one of mercer/problem.py without the equality:
//
//   minimise over a   1/2 a'(K + diag(ridge)) a - q'a + l1 |a|_1    subject to  lower <= a <= upper,
//
// and the primal is to minimise P(w) = 1/2 |w|^2 + sum_i loss_i(q_i - w'x_i), where loss_i(u) is the maximum over a_i
// of u a_i - l1 |a_i| - ridge_i a_i^2 / 2. They meet at w = X'a. Two ways to get there:
//
//   dual:    coordinate descent with shrinking (Hsieh et al., ICML 2008; Ho and Lin, JMLR 2012), and on the face it has
//            found, conjugate gradients (More and Toraldo, SIAM J. Optim. 1991);
//   primal:  Newton's method, its steps by preconditioned conjugate gradients, exact line search (Lin, Weng and
//            Keerthi, JMLR 2008; Galli and Lin, TNNLS 2022). It needs every ridge > 0, which makes the loss
//            differentiable; where there is none, the proximal point method supplies one (Rockafellar, SIAM J. Control
//            Optim. 1976).
#pragma once

#include "samples/source.hpp"
#include "solvers/linear_loops.hpp"
#include "solvers/progress.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace mercer::linear {

using Vector = std::vector<double>;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The part of the problem that belongs to one row; its coefficient may rise or fall only where the bounds let it.
struct Term {
    double q, lower, upper, ridge;

    // The slopes of the dual objective (to be maximised) upwards and downwards at a, if g = q - w'x - ridge a.
    double rise(double a, double g, double l1) const { return a < upper ? g - (a >= 0 ? l1 : -l1) : -kInfinity; }
    double fall(double a, double g, double l1) const { return a > lower ? g - (a > 0 ? l1 : -l1) : kInfinity; }
    // The coefficient that attains loss(u), for ridge > 0.
    double response(double u, double l1) const {
        const double shrunk = u - std::min(std::max(u, -l1), l1); // no branches: they could not be predicted
        return std::min(std::max(shrunk / ridge, lower), upper);
    }
    // A hard constraint has no finite loss: it is charged like a soft one whose bounds are +-most. If no coefficient of
    // the optimum is larger, the two problems have the same optimum.
    double loss(double u, double l1, double most = kInfinity) const;
    bool hard() const { return ridge == 0 && lower < upper && (std::isinf(lower) || std::isinf(upper)); }
};

struct LinearProblem {
    std::vector<Term> terms;
    double l1 = 0;
};

// How far a problem has come.
struct LinearProgress {
    Index problem; // its number among those solved together
    Index iterations;
    double violation, gap; // certified
    Index active;          // coefficients that sweeps visit, or that are free
};

struct Options {
    bool primal = false; // hard margins are solved by the dual all the same
    double tol = 1e-4;   // of the violation
    Index max_iterations = 1000;
    std::uint64_t seed = 0;
    std::function<bool(const LinearProgress&)> progress = {}; // called now and then; true means stop
    Index number = 0;                                         // of the problem
};

// What a solver has found, and its certificate: see mercer/solvers/certificate.py.
struct LinearSolution {
    Vector weights;      // one per column and, last, that of the constant s; none stands for X'a
    Vector coefficients; // a; none stands for zeros
    Index iterations = 0;
    double primal = 0, dual = 0, violation = kInfinity;
    bool converged = false, certified = false;
    bool contradiction = false; // the hard constraints cannot all be met
};

// Rows with their constant, and how to multiply with them.
template <class T> class ExtendedRows {
  public:
    ExtendedRows(const Source<T>& source, double constant);

    Index count() const { return source_.rows; }
    Index width() const { return source_.columns + 1; } // of a vector of weights
    double constant() const { return constant_; }
    const Source<T>& source() const { return source_; }
    const Loops<T>& fast() const { return loops_; }
    // Multiplications of one product with all rows, and with one on average.
    double work() const {
        return source_.sparse() ? double(source_.indptr[source_.rows]) : double(source_.rows * source_.columns);
    }
    double density() const { return work() / double(source_.rows); }
    double dot(Index i, const double* w) const {
        const double rest = constant_ * w[source_.columns];
        if (!source_.sparse()) return loops_.dot(source_.columns, row(i), w) + rest;
        const Index p = source_.indptr[i];
        return loops_.sparse_dot(source_.indptr[i + 1] - p, source_.values + p, source_.indices + p, w) + rest;
    }
    // f_i = x_i'w, and w += sum_i a_i x_i, for begin <= i < end.
    void dots(Index begin, Index end, const double* w, double* f) const {
        if (source_.sparse()) {
            for (Index i = begin; i < end; ++i) f[i] = dot(i, w);
            return;
        }
        loops_.dots(end - begin, source_.columns, source_.row_stride, row(begin), w, f + begin);
        const double rest = constant_ * w[source_.columns];
        for (Index i = begin; i < end; ++i) f[i] += rest;
    }
    void adds(Index begin, Index end, const double* a, double* w) const {
        if (source_.sparse()) {
            for (Index i = begin; i < end; ++i)
                if (a[i] != 0) add(i, a[i], w);
            return;
        }
        loops_.adds(end - begin, source_.columns, source_.row_stride, a + begin, row(begin), w);
        for (Index i = begin; i < end; ++i) w[source_.columns] += constant_ * a[i];
    }
    void add(Index i, double s, double* w) const {
        w[source_.columns] += s * constant_;
        if (!source_.sparse()) return loops_.add(source_.columns, s, row(i), w);
        const Index p = source_.indptr[i];
        loops_.sparse_add(source_.indptr[i + 1] - p, s, source_.values + p, source_.indices + p, w);
    }
    double square(Index i) const { return squares_[std::size_t(i)]; }
    double largest_square() const { return largest_; }
    bool zero(Index i) const {
        if (constant_ != 0) return false;
        if (!source_.sparse()) return std::all_of(row(i), row(i) + source_.columns, [](T v) { return v == 0; });
        const T *begin = source_.values + source_.indptr[i], *end = source_.values + source_.indptr[i + 1];
        return std::all_of(begin, end, [](T v) { return v == 0; });
    }
    // The columns that a row may have something in.
    template <class Visit> void columns(Index i, Visit visit) const {
        if (source_.sparse())
            for (Index p = source_.indptr[i]; p < source_.indptr[i + 1]; ++p) visit(std::size_t(source_.indices[p]));
        else
            for (std::size_t k = 0; k < std::size_t(source_.columns); ++k) visit(k);
    }
    // Asks for row i to be brought near, all of it if it is not long.
    void prefetch(Index i) const {
        const bool sparse = source_.sparse();
        const Index p = sparse ? source_.indptr[i] : 0, n = sparse ? source_.indptr[i + 1] - p : source_.columns;
        const Index end = n < 512 ? n : 512;
        const T* x = sparse ? source_.values + p : row(i);
        for (Index k = 0; k < end; k += Index(64 / sizeof(T))) __builtin_prefetch(x + k);
        if (sparse)
            for (Index k = 0; k < end; k += 16) __builtin_prefetch(source_.indices + p + k);
    }

  private:
    const T* row(Index i) const { return source_.data + i * source_.row_stride; }

    Source<T> source_;
    double constant_;
    const Loops<T>& loops_;
    Vector squares_; // |x_i|^2, the constant included
    double largest_ = 0;
};

// Rows cut into parts, their number given by the work (in multiplications) and not by the threads, on which sums over
// them therefore do not depend.
inline constexpr Index kParts = 16;
Index parts_of(double work, double width = 0); // width: numbers that each part has to itself
void over_parts(Index parts, Index count, const std::function<void(Index part, Index begin, Index end)>& task);
template <class T> void products(const ExtendedRows<T>& rows, const Vector& w, Vector& f);                 // f = X w
template <class T> void combine(const ExtendedRows<T>& rows, const Vector& a, Vector& partial, Vector& w); // w = X'a

// The ways. An interruption leaves what there is in the solution, which may then want to be certified.
template <class T> void descend(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                                LinearSolution& solution);
template <class T> void newton(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                               LinearSolution& solution);
template <class T> void proximal(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                                 LinearSolution& solution);

// Recomputes in float64 what weights and coefficients prove; the weights need not be X'a.
template <class T> void certify(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                                LinearSolution& solution);

// Proof that hard constraints contradict each other. Weights that meet them satisfy w'X'a >= gain = q'a - l1 |a|, so
// they cannot if each |w_k| is at most credible_k, and gain > sum_k credible_k |(X'a)_k|. (The dual grows without bound
// along an a for which X'a is zero.) Credible is up to 1e4 times the largest target over what rows typically differ by
// in a column, and an intercept that such weights ask for.
template <class T> Vector credible(const ExtendedRows<T>& rows, const LinearProblem& problem);
bool contradicts(double gain, const Vector& combination, const Vector& credible);
// Whether a row of zeros has a hard constraint that no weights meet.
template <class T> bool hopeless(const ExtendedRows<T>& rows, const LinearProblem& problem);

// Reports how far a problem has come, if anybody wants to know. What it says is certified, which costs about as much as
// a sweep, and changes nothing.
template <class T> class ProgressReporter {
  public:
    ProgressReporter(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options)
        : rows_(rows), problem_(problem), options_(options) {}
    bool due() { return options_.progress && pulse_.due(); }
    // True means stop.
    bool tell(Index iterations, Index active, const Vector& weights, const Vector& a);
    bool stopped() const { return stopped_; }

  private:
    const ExtendedRows<T>& rows_;
    const LinearProblem& problem_;
    const Options& options_;
    Pulse pulse_;
    bool stopped_ = false;
};

// Solves one problem for each of the solutions on the same rows, in parallel; fill(k) gives the k-th. Throws
// Interrupted if asked to stop, after certifying what there is; a second interruption leaves that undone.
template <class T> void solve(const Source<T>& source, double constant, const std::function<LinearProblem(Index)>& fill,
                              const Options& options, std::vector<LinearSolution>& solutions);

} // namespace mercer::linear
