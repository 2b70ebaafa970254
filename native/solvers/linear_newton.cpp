// The primal problem by LinearNewton's method.
//
// With a_i = loss_i'(u_i), the gradient is w - X'a and the Hessian I + X'DX, D = 1/ridge where a_i is free and 0
// elsewhere. P is piecewise quadratic, so that the method ends after finitely many steps. Each is solved by conjugate
// gradients, which need one or two steps where the Hessian is known as a matrix.
#include "solvers/linear_hessian.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace mercer::linear {
namespace {

double inner(const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
    return sum;
}

template <class T> class LinearNewton {
  public:
    Vector w, f, a; // weights, X w, and the coefficients of largest loss
    Index iterations = 0;

    LinearNewton(const ExtendedRows<T>& rows, const Options& options) : rows_(rows), options_(options), hessian_(rows) {
        w.assign(std::size_t(rows.width()), 0.0);
        f.assign(std::size_t(rows.count()), 0.0);
        a.assign(std::size_t(rows.count()), 0.0);
        free_.assign(std::size_t(rows.count()), false);
        reach_ = 2 * std::sqrt(std::max(rows.largest_square(), 1e-300));
    }

    double primal(const LinearProblem& problem) const {
        double sum = 0.5 * inner(w, w);
        for (std::size_t i = 0; i < f.size(); ++i) {
            const Term& t = problem.terms[i];
            if (t.lower < t.upper) sum += t.loss(t.q - f[i], problem.l1);
        }
        return sum;
    }
    // The coefficients of largest loss.
    void respond(const LinearProblem& problem) {
        for (std::size_t i = 0; i < f.size(); ++i) {
            const Term& t = problem.terms[i];
            a[i] = t.lower < t.upper ? t.response(t.q - f[i], problem.l1) : 0.0;
        }
    }
    // Minimises P from the present w on, until |x_i'g - x_j'g| <= tol for the gradient g and all rows, or until told to
    // stop.
    void minimise(const LinearProblem& problem, double tol, ProgressReporter<T>& watch) {
        problem_ = &problem;
        slow_ = true;
        Vector g, z, p(w.size());
        double best = kInfinity;
        // Steps without a smaller gradient; near the optimum they mean that rounding is all that is left.
        Index idle = 0;
        for (bool first = true;; first = false) {
            respond(problem);
            sort();
            if (watch.due() && watch.tell(iterations, Index(active_.size()), w, a)) return;
            gradient(g);
            const double norm = std::sqrt(inner(g, g));
            if (first) start_ = std::max(start_, norm);
            if (norm * reach_ <= std::max(tol, 1e-15 * start_ * reach_)) return;
            idle = norm < 0.9 * best ? 0 : idle + 1;
            best = std::min(best, norm);
            if (iterations >= options_.max_iterations || (idle > 10 && norm < 1e-8 * start_)) return;
            ++iterations;
            slow_ = slow_ || idle > 0;
            direction(g, norm, p);
            products(rows_, p, z);
            const double t = line_search(inner(g, p), p, z);
            if (!(t > 0)) return; // nothing to be gained any more
            for (std::size_t k = 0; k < w.size(); ++k) w[k] += t * p[k];
            for (std::size_t i = 0; i < f.size(); ++i) f[i] += t * z[i];
        }
    }

  private:
    // Which coefficients are free, and which of them were not or are no longer.
    void sort() {
        active_.resize(f.size());
        came_.clear();
        went_.clear();
        std::size_t count = 0;
        for (std::size_t i = 0; i < f.size(); ++i) {
            const Term& t = problem_->terms[i];
            const bool free = (a[i] > t.lower) & (a[i] < t.upper) & (a[i] != 0);
            active_[count] = Index(i); // no branches: they could not be predicted
            count += free;
            if (free == bool(free_[i])) continue;
            free_[i] = free;
            (free ? came_ : went_).push_back(Index(i));
        }
        active_.resize(count);
    }
    void gradient(Vector& g) {
        combine(rows_, a, partial_, g);
        for (std::size_t k = 0; k < g.size(); ++k) g[k] = w[k] - g[k];
    }
    // Solves (Hessian) p = -g by preconditioned conjugate gradients.
    void direction(const Vector& g, double norm, Vector& p) {
        if (slow_)
            hessian_.build(active_, *problem_);
        else
            hessian_.follow(active_, came_, went_);
        const double wanted = norm * std::min(0.1, std::sqrt(norm / start_) * 0.1);
        Vector r(g.size()), z(g.size()), q, h;
        for (std::size_t k = 0; k < g.size(); ++k) r[k] = -g[k];
        std::fill(p.begin(), p.end(), 0.0);
        hessian_.solve(r, z);
        q = z;
        double rz = inner(r, z);
        Index step = 0;
        for (; step < 250 && rz > 0; ++step) {
            hessian_.product(q, h);
            const double t = rz / inner(q, h), before = rz;
            for (std::size_t k = 0; k < p.size(); ++k) p[k] += t * q[k], r[k] -= t * h[k];
            if (std::sqrt(inner(r, r)) <= wanted) break;
            hessian_.solve(r, z);
            rz = inner(r, z);
            for (std::size_t k = 0; k < q.size(); ++k) q[k] = z[k] + rz / before * q[k];
        }
        slow_ = step > 20 && hessian_.stale();
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

    const ExtendedRows<T>& rows_;
    const LinearProblem* problem_ = nullptr;
    Options options_;
    Hessian<T> hessian_;
    std::vector<Index> active_, came_, went_;
    std::vector<char> free_; // whether active_ has it
    Vector partial_;
    double reach_ = 0, start_ = 0; // twice the largest norm of a row; the largest gradient at a start
    bool slow_ = true;
};

} // namespace

template <class T> void newton(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                               LinearSolution& solution) {
    LinearNewton<T> solver(rows, options);
    ProgressReporter<T> watch(rows, problem, options);
    auto keep = [&] {
        solver.respond(problem);
        solution.weights = solver.w;
        solution.coefficients = solver.a;
        solution.iterations = solver.iterations;
    };
    try {
        solver.minimise(problem, options.tol, watch);
        products(rows, solver.w, solver.f); // afresh
    } catch (const Interrupted&) {
        keep();
        throw;
    }
    keep();
    certify(rows, problem, options, solution);
}

// For losses with corners, whose ridge is 0: the proximal point method on the dual (Rockafellar, SIAM J. Control Optim.
// 1976). Each stage adds rho/2 |a - a_before|^2 to the dual, which is a ridge of rho and a shift of q, and rounds the
// corners of the primal by as much; rho falls, and the slopes left over are at most rho |a - a_before|.
template <class T>
void proximal(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options, LinearSolution& best) {
    LinearNewton<T> solver(rows, options);
    ProgressReporter<T> watch(rows, problem, options);
    LinearProblem stage = problem;
    double size = 0, cost = 0;
    for (const Term& t : problem.terms) {
        if (!(t.lower < t.upper)) continue;
        size = std::max(size, std::abs(t.q));
        cost = std::max(cost, std::max(-t.lower, t.upper));
    }
    // The first corners are so round that all coefficients are free at w = 0. The smaller rho, the fewer stages and the
    // worse its systems: below `small` it falls only when stages achieve little.
    double rho = 10 * (size > 0 ? size : 1) / std::max(cost, 1e-300);
    const double small = 1e-4 * rho, least = 1e-4 * small, fine = 0.25 * options.tol;
    double inner_tol = 0.1 * rho * cost, last = kInfinity, lowest = kInfinity;
    Vector low;        // the weights of the lowest primal seen, which rounding may have kept X'a from
    Index useless = 0; // stages since the last that was good for something
    while (true) {
        for (std::size_t i = 0; i < stage.terms.size(); ++i) {
            stage.terms[i].ridge = rho;
            stage.terms[i].q = problem.terms[i].q + rho * solver.a[i];
        }
        const Index before = solver.iterations;
        try {
            solver.minimise(stage, std::max(fine, inner_tol), watch);
        } catch (const Interrupted&) {
            if (!best.certified) best.weights = solver.w, best.coefficients = solver.a;
            best.iterations = solver.iterations;
            throw;
        }
        LinearSolution solution;
        solution.coefficients = solver.a;
        certify(rows, problem, options, solution);
        const double violation = solution.violation, reached = solver.primal(problem);
        if (reached < lowest) lowest = reached, low = solver.w;
        useless = violation < 0.9 * best.violation ? 0 : useless + 1;
        if (!best.certified || violation < best.violation) best = std::move(solution);
        best.iterations = solver.iterations;
        const bool idle = before == solver.iterations;
        if (best.converged || watch.stopped() || solver.iterations >= options.max_iterations) break;
        if (idle && inner_tol <= fine && rho == least) break;
        if (useless > 8 || violation > 100 * best.violation || std::isinf(violation)) break; // rounding has taken over
        inner_tol = 0.1 * std::min(violation, idle ? inner_tol : rho * cost);
        if (rho > small || violation > 0.3 * last) rho = std::max(0.2 * rho, least);
        last = violation;
    }
    if (!best.converged && !watch.stopped() && lowest < best.primal) {
        best.weights = low;
        certify(rows, problem, options, best);
    }
}
#define MERCER_INSTANTIATE(T)                                                                                          \
    template void newton(const ExtendedRows<T>&, const LinearProblem&, const Options&, LinearSolution&);               \
    template void proximal(const ExtendedRows<T>&, const LinearProblem&, const Options&, LinearSolution&);
MERCER_INSTANTIATE(float)
MERCER_INSTANTIATE(double)

} // namespace mercer::linear
