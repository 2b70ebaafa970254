// The dual problem by coordinate descent: one coefficient at a time is set to its optimum, w = X'a being kept.
//
// Coefficients that sit at a bound (or, with l1, at zero) with slopes that keep them there are left out of the sweeps,
// until the others are optimal. When sweeps hardly change any more which coefficients are free, conjugate gradients
// solve for the free ones together, which sweeps do slowly where rows are alike.
#include "solvers/linear.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>

namespace mercer::linear {
namespace {

constexpr Index kPlainSweeps = 20; // before the first acceleration; easy problems end earlier
constexpr Index kLeastSteps = 10;  // of conjugate gradients; fewer do not pay
constexpr Index kLook = 10;        // sweeps between two looks for a contradiction

// xorshift64*: small, fast, the same everywhere.
struct Random {
    std::uint64_t state;
    explicit Random(std::uint64_t seed) : state(seed * 0x9E3779B97F4A7C15ull + 0xD1B54A32D192ED03ull) {}
    Index below(Index n) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return Index(((state * 0x2545F4914F6CDD1Dull) >> 32) * std::uint64_t(n) >> 32);
    }
};

template <class T> class CoordinateDescent {
  public:
    CoordinateDescent(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options)
        : rows_(rows), problem_(problem), l1_(problem.l1), options_(options), watch_(rows, problem, options),
          random_(options.seed) {
        const Index n = rows.count();
        terms_.reserve(std::size_t(n));
        w_.assign(std::size_t(rows.width()), 0.0);
        for (Index i = 0; i < n; ++i) {
            const Term& t = problem.terms[std::size_t(i)];
            if (t.lower < t.upper) order_.push_back(std::int32_t(i));
            terms_.push_back({t, 0.0, rows.square(i) + t.ridge});
            hard_ = hard_ || t.hard();
        }
        if (hard_) credible_ = credible(rows, problem), hopeless_ = hopeless(rows, problem);
    }

    void run(LinearSolution& solution) {
        double tol = options_.tol;
        while (true) {
            descend(tol, solution);
            combine(rows_, solution.coefficients, partial_, w_); // afresh
            solution.weights = w_;
            certify(rows_, problem_, options_, solution);
            if (solution.converged || solution.contradiction || watch_.stopped()) return;
            if (solution.iterations >= options_.max_iterations || tol < 1e-3 * options_.tol) return;
            tol *= 0.5; // slopes seen during a sweep are a little older than those of the certificate
        }
    }

  private:
    struct Coordinate {
        Term term;
        double a, curvature;
    };

    Vector gathered() const {
        Vector a;
        a.reserve(terms_.size());
        for (const Coordinate& c : terms_) a.push_back(c.a);
        return a;
    }

    // As many visits as there are coefficients count as one: short sweeps are cheap.
    Index iterations() const { return (visits_ + Index(order_.size()) - 1) / std::max<Index>(1, Index(order_.size())); }

    // Sweeps until no slope of any coefficient exceeds tol; whatever ends them, the solution has the coefficients.
    void descend(double tol, LinearSolution& solution) {
        auto keep = [&] {
            solution = {};
            solution.coefficients = gathered();
            solution.iterations = iterations();
        };
        try {
            descend(tol);
        } catch (const Interrupted&) {
            keep();
            throw;
        }
        keep();
    }

    void descend(double tol) {
        std::size_t active = order_.size();
        double high = kInfinity, low = -kInfinity; // slopes of the last sweep
        Index quiet = 0;
        while (iterations() < options_.max_iterations) {
            if (watch_.due() && watch_.tell(iterations(), Index(active), w_, gathered())) return;
            if (hard_ && sweeps_ % kLook == 0 && impossible()) return;
            ++sweeps_;
            double rise = 0, fall = 0;
            Index left = 0; // how many coefficients came to a bound or left one
            for (std::size_t k = 0; k + 1 < active; ++k)
                std::swap(order_[k], order_[k + std::size_t(random_.below(Index(active - k)))]);
            for (std::size_t k = 0; k < active; ++k) {
                if ((k & 1023) == 0) poll();
                if (k + 1 < active) rows_.prefetch(order_[k + 1]);
                if (k + 2 < active) __builtin_prefetch(&terms_[std::size_t(order_[k + 2])]);
                while (true) {
                    const Index i = order_[k];
                    Coordinate& c = terms_[std::size_t(i)];
                    ++visits_, ++since_;
                    const double g = c.term.q - rows_.dot(i, w_.data()) - c.term.ridge * c.a;
                    const double up = c.term.rise(c.a, g, l1_), down = c.term.fall(c.a, g, l1_);
                    if (up < low && down > high && k < active) {
                        std::swap(order_[k], order_[--active]);
                        if (k < active) continue;
                        break;
                    }
                    rise = std::max(rise, up);
                    fall = std::min(fall, down);
                    if (up > 1e-13 || down < -1e-13) left += move(i, c, g);
                    break;
                }
            }
            if (rise - fall <= tol) {
                if (active == order_.size()) return;
                active = order_.size();
                high = kInfinity, low = -kInfinity;
                continue;
            }
            high = rise > 0 ? rise : kInfinity;
            low = fall < 0 ? fall : -kInfinity;
            quiet = left * 50 <= Index(active) ? quiet + 1 : 0;
            if (quiet >= 3 && sweeps_ >= kPlainSweeps && accelerate(active, tol)) quiet = 0;
        }
    }

    bool impossible() const {
        if (hopeless_) return true;
        double gain = 0;
        for (const Coordinate& c : terms_) gain += c.a * c.term.q - l1_ * std::abs(c.a);
        return contradicts(gain, w_, credible_);
    }

    // Sets a coefficient to its optimum; tells whether its face changed.
    Index move(Index i, Coordinate& c, double g) {
        const Term& t = c.term;
        double a;
        if (c.curvature > 0) {
            a = c.a + g / c.curvature;
            const double s = l1_ / c.curvature;
            a = a > s ? a - s : a < -s ? a + s : 0.0;
            a = std::min(std::max(a, t.lower), t.upper);
        } else { // a row of zeros: the objective is linear in its coefficient
            a = g > l1_ ? t.upper : g < -l1_ ? t.lower : 0.0;
            if (std::isinf(a)) return 0;
        }
        const double change = a - c.a;
        if (change == 0) return 0;
        const bool was = free(c), kept = (c.a > 0) == (a > 0);
        c.a = a;
        rows_.add(i, change, w_.data());
        return was == free(c) && (l1_ == 0 || kept) ? 0 : 1;
    }

    bool free(const Coordinate& c) const { return c.a > c.term.lower && c.a < c.term.upper && (l1_ == 0 || c.a != 0); }

    // Conjugate gradients over the free coefficients, then a step that is projected onto their bounds; only once the
    // sweeps have cost as much as this may.
    bool accelerate(std::size_t active, double tol);

    const ExtendedRows<T>& rows_;
    const LinearProblem& problem_;
    double l1_;
    bool hard_ = false;
    Vector credible_; // if there are hard constraints
    bool hopeless_ = false;
    Options options_;
    ProgressReporter<T> watch_;
    Random random_;
    std::vector<Coordinate> terms_;
    std::vector<std::int32_t> order_; // active ones first
    Vector w_, partial_;
    Index sweeps_ = 0, visits_ = 0, since_ = 0; // visits of single coefficients; those since the last acceleration
};

template <class T> bool CoordinateDescent<T>::accelerate(std::size_t active, double tol) {
    std::vector<Index> face;
    for (std::size_t k = 0; k < active; ++k)
        if (free(terms_[std::size_t(order_[k])])) face.push_back(order_[k]);
    const std::size_t m = face.size();
    const Index limit = m > 1 ? std::min<Index>(Index(m), since_ / Index(2 * m)) : 0;
    if (limit < std::min<Index>(Index(m), kLeastSteps)) return false;
    since_ = 0;
    // minimise 1/2 s'H s - r's over s, H = X_F X_F' + ridge; v = X_F'p.
    Vector s(m, 0.0), r(m), p, h(m), v(w_.size()), dw(w_.size(), 0.0);
    double rr = 0, start;
    for (std::size_t j = 0; j < m; ++j) {
        const Coordinate& c = terms_[std::size_t(face[j])];
        r[j] = c.term.q - rows_.dot(face[j], w_.data()) - c.term.ridge * c.a - (c.a > 0 ? l1_ : -l1_);
        rr += r[j] * r[j];
    }
    p = r;
    start = rr;
    for (Index step = 0; step < limit && rr > 1e-6 * start && rr > 1e-4 * tol * tol; ++step) {
        poll();
        std::fill(v.begin(), v.end(), 0.0);
        for (std::size_t j = 0; j < m; ++j) rows_.add(face[j], p[j], v.data());
        double php = 0, pp = 0;
        for (std::size_t j = 0; j < m; ++j) {
            h[j] = rows_.dot(face[j], v.data()) + terms_[std::size_t(face[j])].term.ridge * p[j];
            php += p[j] * h[j];
            pp += p[j] * p[j];
        }
        if (!(php > 1e-12 * pp)) break; // flat: the bounds decide, and the sweeps find them
        const double t = rr / php, before = rr;
        rr = 0;
        for (std::size_t j = 0; j < m; ++j) {
            s[j] += t * p[j];
            r[j] -= t * h[j];
            rr += r[j] * r[j];
        }
        for (std::size_t j = 0; j < m; ++j) p[j] = r[j] + rr / before * p[j];
    }
    // The change of the objective for the projected step t s; halved until it falls.
    for (double t = 1; t > 1e-3; t *= 0.5) {
        double change = 0;
        std::fill(dw.begin(), dw.end(), 0.0);
        for (std::size_t j = 0; j < m; ++j) {
            const Coordinate& c = terms_[std::size_t(face[j])];
            const double lower = l1_ > 0 && c.a > 0 ? 0.0 : c.term.lower,
                         upper = l1_ > 0 && c.a < 0 ? 0.0 : c.term.upper;
            p[j] = std::min(std::max(c.a + t * s[j], lower), upper);
            const double d = p[j] - c.a;
            rows_.add(face[j], d, dw.data());
            change += d * ((c.a > 0 ? l1_ : -l1_) - c.term.q + c.term.ridge * (c.a + 0.5 * d));
        }
        for (std::size_t k = 0; k < dw.size(); ++k) change += dw[k] * (w_[k] + 0.5 * dw[k]);
        if (change < 0) {
            for (std::size_t j = 0; j < m; ++j) terms_[std::size_t(face[j])].a = p[j];
            for (std::size_t k = 0; k < dw.size(); ++k) w_[k] += dw[k];
            return true;
        }
    }
    return true;
}

} // namespace

template <class T> void descend(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                                LinearSolution& solution) {
    CoordinateDescent<T>(rows, problem, options).run(solution);
}
template void descend(const ExtendedRows<float>&, const LinearProblem&, const Options&, LinearSolution&);
template void descend(const ExtendedRows<double>&, const LinearProblem&, const Options&, LinearSolution&);

} // namespace mercer::linear
