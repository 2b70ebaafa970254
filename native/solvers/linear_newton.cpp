// The primal problem by Newton's method.
//
// With a_i = loss_i'(u_i), the gradient is w - X'a and the Hessian I + X'DX, D = 1/ridge where a_i is free and 0
// elsewhere. P is piecewise quadratic, so that the method ends after finitely many steps. Each is solved by conjugate
// gradients; the preconditioner is the factor of the Hessian of some of the rows, or its diagonal for many columns.
#include "solvers/linear.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mercer::linear {
namespace {

constexpr Index kFactorWidth = 1500; // more columns than this: diagonal
constexpr Index kRowsPerColumn = 12; // rows of the factored Hessian

double inner(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
}

// An approximation of the Hessian that is easy to solve with.
template <class T> class Preconditioner {
  public:
    explicit Preconditioner(const Rows<T>& rows) : rows_(rows), d_(rows.width()) {
        stride_ = (d_ + kPad - 1) / kPad * kPad;
    }
    bool dense() const { return d_ <= kFactorWidth; }
    // From some of the rows `active`, evenly spread, with their curvatures D.
    void build(const std::vector<Index>& active, const Problem& problem);
    void solve(const Vector& r, Vector& z) const;

  private:
    void accumulate(const std::vector<Index>& chosen, const Problem& problem, double scale);
    void factor();

    const Rows<T>& rows_;
    Index d_, stride_;
    Vector diagonal_, L_, columns_; // L_: lower triangle, rows of stride_ numbers
};

template <class T> void Preconditioner<T>::build(const std::vector<Index>& active, const Problem& problem) {
    const Index n = Index(active.size());
    if (!dense()) {
        diagonal_.assign(std::size_t(d_), 1.0);
        const Source<T>& x = rows_.source();
        for (Index i : active) {
            const double D = 1 / problem.terms[std::size_t(i)].ridge;
            diagonal_.back() += D * rows_.constant() * rows_.constant();
            if (x.sparse())
                for (Index p = x.indptr[i]; p < x.indptr[i + 1]; ++p)
                    diagonal_[std::size_t(x.indices[p])] += D * double(x.values[p]) * double(x.values[p]);
            else
                for (Index k = 0; k < x.columns; ++k) {
                    const double v = double(x.data[i * x.row_stride + k]);
                    diagonal_[std::size_t(k)] += D * v * v;
                }
        }
        return;
    }
    const Index m = std::min(n, kRowsPerColumn * d_);
    std::vector<Index> chosen;
    for (Index j = 0; j < m; ++j) chosen.push_back(active[std::size_t(j * n / m)]);
    L_.assign(std::size_t(d_ * stride_ + kPad), 0.0);
    accumulate(chosen, problem, m > 0 ? double(n) / double(m) : 1.0);
    for (Index k = 0; k < d_; ++k) L_[std::size_t(k * stride_ + k)] += 1.0;
    factor();
}

// L += scale X_S'D X_S, lower triangle.
template <class T>
void Preconditioner<T>::accumulate(const std::vector<Index>& chosen, const Problem& problem, double scale) {
    const Source<T>& x = rows_.source();
    const Index last = d_ - 1;
    if (x.sparse()) { // sorted columns: row by row, each entry with those before it
        for (Index i : chosen) {
            poll();
            const double D = scale / problem.terms[std::size_t(i)].ridge;
            const Index begin = x.indptr[i], count = x.indptr[i + 1] - begin;
            const T* values = x.values + begin;
            const std::int32_t* at = x.indices + begin;
            for (Index p = 0; p < count; ++p)
                rows_.fast().sparse_add(p + 1, D * double(values[p]), values, at, L_.data() + at[p] * stride_);
            rows_.fast().sparse_add(count, D * rows_.constant(), values, at, L_.data() + last * stride_);
            L_[std::size_t(last * stride_ + last)] += D * rows_.constant() * rows_.constant();
        }
        return;
    }
    constexpr Index depth = 64;
    Vector block(std::size_t(depth * stride_), 0.0);
    for (std::size_t start = 0; start < chosen.size(); start += depth) {
        const Index count = std::min<Index>(depth, Index(chosen.size() - start));
        for (Index j = 0; j < count; ++j) {
            const Index i = chosen[start + std::size_t(j)];
            const double root = std::sqrt(scale / problem.terms[std::size_t(i)].ridge);
            double* to = block.data() + j * stride_;
            for (Index k = 0; k < last; ++k) to[k] = root * double(x.data[i * x.row_stride + k]);
            to[last] = root * rows_.constant();
        }
        rows_.fast().gram(count, d_, stride_, 1.0, block.data(), L_.data());
        poll();
    }
}

// Cholesky's factorisation in place, 64 columns at a time; columns_ holds them transposed for the update.
template <class T> void Preconditioner<T>::factor() {
    constexpr Index width = 64;
    const auto& fast = loops<double>();
    for (Index start = 0; start < d_; start += width) {
        const Index stop = std::min(start + width, d_), rest = d_ - start;
        const Index stride = stride_;
        columns_.assign(std::size_t(width * stride), 0.0);
        for (Index k = start; k < stop; ++k) { // row k - start of columns_: column k of L, from row `start` on
            double* c = columns_.data() + (k - start) * stride;
            for (Index i = k; i < d_; ++i) c[i - start] = L_[std::size_t(i * stride + k)];
            for (Index j = start; j < k; ++j) {
                const double* before = columns_.data() + (j - start) * stride;
                fast.add(d_ - k, -before[k - start], before + (k - start), c + (k - start));
            }
            const double root = std::sqrt(std::max(c[k - start], 1e-300));
            for (Index i = k; i < d_; ++i) c[i - start] /= root;
            for (Index i = k; i < d_; ++i) L_[std::size_t(i * stride + k)] = c[i - start];
        }
        if (stop < d_) { // the rest -= its part of these columns times itself transposed
            const Index shift = stop - start;
            Vector part(std::size_t(shift * stride), 0.0);
            for (Index k = 0; k < shift; ++k)
                std::copy_n(columns_.data() + k * stride + shift, rest - shift, part.data() + k * stride);
            fast.gram(shift, rest - shift, stride, -1.0, part.data(), L_.data() + stop * stride + stop);
        }
        poll();
    }
}

template <class T> void Preconditioner<T>::solve(const Vector& r, Vector& z) const {
    if (!dense()) {
        for (std::size_t k = 0; k < r.size(); ++k) z[k] = r[k] / diagonal_[k];
        return;
    }
    const auto& fast = loops<double>();
    for (Index i = 0; i < d_; ++i) {
        const double* row = L_.data() + i * stride_;
        z[std::size_t(i)] = (r[std::size_t(i)] - fast.dot(i, row, z.data())) / row[i];
    }
    for (Index i = d_ - 1; i >= 0; --i) {
        const double* row = L_.data() + i * stride_;
        z[std::size_t(i)] /= row[i];
        fast.add(i, -z[std::size_t(i)], row, z.data());
    }
}

template <class T> class Newton {
  public:
    Vector w, f, a; // weights, X w, and the coefficients of largest loss
    Index iterations = 0;

    Newton(const Rows<T>& rows, const Options& options) : rows_(rows), options_(options), preconditioner_(rows) {
        w.assign(std::size_t(rows.width()), 0.0);
        f.assign(std::size_t(rows.count()), 0.0);
        a.assign(std::size_t(rows.count()), 0.0);
        reach_ = 2 * std::sqrt(std::max(rows.largest_square(), 1e-300));
    }

    Vector& partial() { return partial_; }

    void start(Vector coefficients) {
        a = std::move(coefficients);
        combine(rows_, a, partial_, w);
        products(rows_, w, f);
    }
    // Minimises P from the present w on, until |x_i'g - x_j'g| <= tol for the gradient g and all rows, or until told to
    // stop.
    void minimise(const Problem& problem, double tol, Watch<T>& watch) {
        problem_ = &problem;
        slow_ = true;
        Vector g, z, p(w.size());
        double best = kInfinity;
        Index idle =
            0; // steps without a smaller gradient; near the optimum they mean that rounding is all that is left
        for (bool first = true;; first = false) {
            respond();
            if (watch.due() && watch.tell(iterations, Index(active_.size()), w, a)) return;
            gradient(g);
            const double norm = std::sqrt(inner(g, g));
            if (first) start_ = std::max(start_, norm);
            if (norm * reach_ <= std::max(tol, 1e-15 * start_ * reach_)) return;
            idle = norm < 0.9 * best ? 0 : idle + 1;
            best = std::min(best, norm);
            if (iterations >= options_.max_iterations || (idle > 10 && norm < 1e-8 * start_)) return;
            ++iterations;
            direction(g, norm, p);
            products(rows_, p, z);
            const double t = line_search(inner(g, p), p, z);
            if (!(t > 0)) return; // nothing to be gained any more
            for (std::size_t k = 0; k < w.size(); ++k) w[k] += t * p[k];
            for (std::size_t i = 0; i < f.size(); ++i) f[i] += t * z[i];
        }
    }

  private:
    // The coefficients of largest loss, and which of them are free.
    void respond() {
        const double l1 = problem_->l1;
        std::vector<Index> before;
        before.swap(active_);
        for (std::size_t i = 0; i < f.size(); ++i) {
            const Term& t = problem_->terms[i];
            a[i] = t.lower < t.upper ? t.response(t.q - f[i], l1) : 0.0;
            if (a[i] > t.lower && a[i] < t.upper && a[i] != 0) active_.push_back(Index(i));
        }
        std::vector<Index> changed;
        std::set_symmetric_difference(before.begin(), before.end(), active_.begin(), active_.end(),
                                      std::back_inserter(changed));
        stale_ += Index(changed.size());
    }
    void gradient(Vector& g) {
        combine(rows_, a, partial_, g);
        for (std::size_t k = 0; k < g.size(); ++k) g[k] = w[k] - g[k];
    }
    // h = p + X_A'D X_A p
    void hessian(const Vector& p, Vector& h) {
        const std::size_t d = p.size();
        const std::size_t parts = std::size_t(parts_of(2 * rows_.density() * double(active_.size()), double(d)));
        partial_.assign(parts * d, 0.0);
        over_parts(Index(parts), Index(active_.size()), [&](Index part, Index begin, Index end) {
            double* sum = partial_.data() + std::size_t(part) * d;
            for (Index j = begin; j < end; ++j) {
                const Index i = active_[std::size_t(j)];
                rows_.add(i, rows_.dot(i, p.data()) / problem_->terms[std::size_t(i)].ridge, sum);
            }
        });
        h = p;
        for (std::size_t part = 0; part < parts; ++part)
            for (std::size_t k = 0; k < d; ++k) h[k] += partial_[part * d + k];
    }
    // Solves (Hessian) p = -g by preconditioned conjugate gradients.
    void direction(const Vector& g, double norm, Vector& p) {
        if (slow_ || stale_ * 2 > Index(active_.size())) {
            preconditioner_.build(active_, *problem_);
            stale_ = 0;
        }
        const double wanted = norm * std::min(0.1, std::sqrt(norm / start_) * 0.1);
        Vector r(g.size()), z(g.size()), q, h;
        for (std::size_t k = 0; k < g.size(); ++k) r[k] = -g[k];
        std::fill(p.begin(), p.end(), 0.0);
        preconditioner_.solve(r, z);
        q = z;
        double rz = inner(r, z);
        Index step = 0;
        for (; step < 250 && rz > 0; ++step) {
            hessian(q, h);
            const double t = rz / inner(q, h), before = rz;
            for (std::size_t k = 0; k < p.size(); ++k) p[k] += t * q[k], r[k] -= t * h[k];
            if (std::sqrt(inner(r, r)) <= wanted) break;
            preconditioner_.solve(r, z);
            rz = inner(r, z);
            for (std::size_t k = 0; k < q.size(); ++k) q[k] = z[k] + rz / before * q[k];
        }
        slow_ = preconditioner_.dense() ? step > 20 && stale_ > 0 : false;
    }
    // The t that minimises P(w + t p), f = X w and z = X p, as nearly as pays: the derivative is a sum over the rows,
    // monotone and piecewise linear in t.
    double line_search(double first, const Vector& p, const Vector& z) {
        if (!(first < 0)) return 0.0;
        const double wp = inner(w, p), pp = inner(p, p);
        double low = 0, high = kInfinity, t = 1;
        for (int round = 0; round < 30; ++round) {
            double parts[kParts][2] = {};
            over_parts(parts_of(4 * double(rows_.count())), rows_.count(), [&](Index part, Index begin, Index end) {
                double slope = 0, curvature = 0;
                for (Index i = begin; i < end; ++i) {
                    const Term& term = problem_->terms[std::size_t(i)];
                    if (!(term.lower < term.upper)) continue;
                    const double zi = z[std::size_t(i)];
                    const double a = term.response(term.q - f[std::size_t(i)] - t * zi, problem_->l1);
                    slope -= a * zi;
                    curvature += double((a > term.lower) & (a < term.upper) & (a != 0)) * (zi * zi / term.ridge);
                }
                parts[part][0] = slope;
                parts[part][1] = curvature;
            });
            double slope = wp + t * pp, curvature = pp;
            for (auto& part : parts) slope += part[0], curvature += part[1];
            if (std::abs(slope) <= 1e-2 * -first) return t;
            (slope < 0 ? low : high) = t;
            const double next = t - slope / curvature;
            t = next > low && next < high ? next : high < kInfinity ? 0.5 * (low + high) : 2 * t;
            if (high - low <= 1e-12 * high) return low;
        }
        return low > 0 ? low : t;
    }

    const Rows<T>& rows_;
    const Problem* problem_ = nullptr;
    Options options_;
    Preconditioner<T> preconditioner_;
    std::vector<Index> active_;
    Vector partial_;
    Index stale_ = 0;              // rows that came or went since the preconditioner was built
    double reach_ = 0, start_ = 0; // twice the largest norm of a row; the largest gradient at a start
    bool slow_ = true;
};

} // namespace

template <class T> Solution newton(const Rows<T>& rows, const Problem& problem, const Options& options) {
    Newton<T> solver(rows, options);
    Watch<T> watch(rows, problem, options);
    Solution solution;
    solver.minimise(problem, options.tol, watch);
    products(rows, solver.w, solver.f);
    for (std::size_t i = 0; i < solver.f.size(); ++i) {
        const Term& t = problem.terms[i];
        solver.a[i] = t.lower < t.upper ? t.response(t.q - solver.f[i], problem.l1) : 0.0;
    }
    solution.weights = std::move(solver.w);
    solution.iterations = solver.iterations;
    certify(rows, problem, options, solver.a, solution);
    return solution;
}

// For losses with corners, whose ridge is 0: the proximal point method on the dual (Rockafellar, SIAM J. Control Optim.
// 1976). Each stage adds rho/2 |a - a_before|^2 to the dual, which is a ridge of rho and a shift of q, and rounds the
// corners of the primal by as much; rho falls, and the slopes left over are at most rho |a - a_before|.
template <class T> Solution proximal(const Rows<T>& rows, const Problem& problem, const Options& options) {
    Newton<T> solver(rows, options);
    Watch<T> watch(rows, problem, options);
    Solution solution, best;
    best.violation = kInfinity;
    Problem stage = problem;
    double size = 0, cost = 0;
    for (const Term& t : problem.terms) {
        if (!(t.lower < t.upper)) continue;
        size = std::max(size, std::abs(t.q));
        cost = std::max(cost, std::max(-t.lower, t.upper));
    }
    solver.start(sweep(rows, problem, options));
    double rho = 0.1 * size / std::max(cost, 1e-300);
    // The smaller rho, the fewer stages and the worse its systems: below `small` it falls only when stages achieve
    // little.
    const double small = 0.01 * rho, least = 1e-4 * small, fine = 0.25 * options.tol;
    double inner_tol = 0.1 * rho * cost;
    for (double last = kInfinity;; last = solution.violation) {
        for (std::size_t i = 0; i < stage.terms.size(); ++i) {
            stage.terms[i].ridge = rho;
            stage.terms[i].q = problem.terms[i].q + rho * solver.a[i];
        }
        const Index before = solver.iterations;
        solver.minimise(stage, std::max(fine, inner_tol), watch);
        solution.iterations = solver.iterations;
        combine(rows, solver.a, solver.partial(), solution.weights);
        certify(rows, problem, options, solver.a, solution);
        if (solution.violation < best.violation) best = solution;
        best.iterations = solver.iterations;
        const bool idle = before == solver.iterations;
        if (best.converged || watch.stopped() || solver.iterations >= options.max_iterations) return best;
        if (idle && inner_tol <= fine && rho == least) return best;
        if (solution.violation > 100 * best.violation) return best; // rounding has taken over
        inner_tol = 0.1 * std::min(solution.violation, idle ? inner_tol : rho * cost);
        if (rho > small || solution.violation > 0.3 * last) rho = std::max(0.2 * rho, least);
    }
}
#define MERCER_INSTANTIATE(T)                                                                                          \
    template Solution newton(const Rows<T>&, const Problem&, const Options&);                                          \
    template Solution proximal(const Rows<T>&, const Problem&, const Options&);
MERCER_INSTANTIATE(float)
MERCER_INSTANTIATE(double)

} // namespace mercer::linear
