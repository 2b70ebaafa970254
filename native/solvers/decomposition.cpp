#include "solvers/decomposition.hpp"

#include "solvers/certificate.hpp"
#include "solvers/inner_solver.hpp"
#include "solvers/memory_plan.hpp"
#include "solvers/paired_coefficients.hpp"
#include "solvers/policy.hpp"
#include "solvers/problem_matrix.hpp"
#include "solvers/progress.hpp"
#include "solvers/selection.hpp"
#include "solvers/stopping.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace mercer {
namespace {

template <class T> class Decomposition {
  public:
    // total: null if the problem is a part of another.
    Decomposition(const Gram<T>& gram, const LentRows<T>& lent, const Problem& problem, const double* total,
                  const Settings& settings, double* a, Index number)
        : gram_(gram), problem_(problem), total_(total), settings_(settings), plan_(gram, problem),
          policy_(gram, problem, settings, plan_),
          stopping_(problem, settings, policy_.whole(), std::max<Index>(1, kSmall / policy_.largest()), !total),
          matrix_(gram, problem, lent, policy_.of_rows()), a_(a), number_(number), f_(std::size_t(matrix_.size()), 0.0),
          lent_block_(lent.block), block_(lent.block ? *lent.block : own_block_),
          vast_(policy_.vast(matrix_.capacity())), working_(policy_.first()) {}

    // The product with the coefficients as they are.
    void start() {
        std::vector<Index> moved;
        std::vector<double> delta;
        for (Index p = 0; p < problem_.count; ++p)
            if (a_[p] != 0) {
                moved.push_back(p);
                delta.push_back(a_[p]);
            }
        update(moved, delta);
    }
    void start(const double* f) {
        for (Index p = 0; p < problem_.count; ++p) f_[std::size_t(matrix_.column(p))] = f[p];
    }
    void finish(double* f) const {
        for (Index p = 0; p < problem_.count; ++p) f[p] = f_[std::size_t(matrix_.column(p))];
    }
    Solved solved() const {
        Solved result = solved_;
        result.computed = matrix_.computed() + within_;
        result.negative.lower(block_.negative_curvature());
        return result;
    }

    void run() {
        for (;; ++solved_.rounds) {
            slopes_.find(problem_, a_, f_.data(), [&](Index p) { return matrix_.column(p); });
            solved_.violation = slopes_.violation;
            poll();
            if (const auto status = ended()) return done(*status);
            const std::vector<Index>& working = choose();
            Index limit = stopping_.most_steps() - solved_.steps;
            if (!active_) limit = std::min(limit, Policy::steps(Index(working.size())));
            if (all_ && !policy_.whole()) limit = std::min(limit, policy_.steps_of_all());
            Outcome outcome;
            const Status status = minimise(working, limit, outcome);
            solved_.steps += outcome.steps;
            stopping_.end_round(sizeof(T) == 4 || outcome.steps < limit);
            const bool moved = commit(working);
            if (outcome.interrupted) std::rethrow_exception(outcome.interrupted);
            if (status == Status::stopped) return done(Status::stopped);
            if (outcome.unbounded) return done(Status::unbounded);
            if (outcome.steps >= limit) paired_.settle(problem_, matrix_, a_);
            if (!moved && !active_) return done(Status::stalled);
            if (!moved || status == Status::stalled) vast_ = false; // blocks may go on where an active set does not
        }
    }

  private:
    // Why it is to end here, if it is.
    std::optional<Status> ended() {
        if (report()) return Status::stopped;
        if (slopes_.violation <= policy_.goal()) return Status::converged;
        if (std::isinf(slopes_.violation)) return Status::stalled; // the matrix overflows this precision
        const auto value = [&](Index p) { return f_[std::size_t(matrix_.column(p))]; };
        if (stopping_.endless(a_, value, [&] { return radius(); })) return Status::unbounded;
        if (solved_.steps >= stopping_.most_steps()) return Status::step_limit;
        stopping_.begin_round(slopes_.violation);
        if (stopping_.hopeless(solved_.steps, [&] { return certified(); }) || stopping_.stuck()) return Status::stalled;
        return std::nullopt;
    }
    void done(Status status) { solved_.status = status; }

    // The largest squared distance from one of the samples: a bias moves the origin anywhere.
    double radius() {
        if (radius_ > 0) return radius_;
        std::vector<T> row(static_cast<std::size_t>(matrix_.size()));
        matrix_.read({0}, {row.data()});
        for (Index c = 0; c < matrix_.size(); ++c)
            radius_ = std::max(radius_, matrix_.diagonal(0) + matrix_.diagonal(c) - 2 * double(row[std::size_t(c)]));
        return radius_;
    }

    const std::vector<Index>& choose() {
        if (policy_.whole() && !matrix_.held() && !everything_.empty()) return everything_;
        Index free = 0;
        for (Index p = 0; p < problem_.count; ++p)
            free += a_[p] > problem_.lower[p] && a_[p] < problem_.upper[p] && a_[p] != 0;
        all_ = matrix_.held() && policy_.all(free, solved_.rounds);
        if ((all_ || policy_.whole()) && everything_.empty()) {
            everything_.resize(std::size_t(problem_.count));
            std::iota(everything_.begin(), everything_.end(), Index(0));
        }
        const Index part = vast_ && !all_ ? policy_.active(free) : 0;
        active_ = part > 0;
        const Index size = active_ ? part : policy_.block(free);
        const std::vector<Index>& working =
            all_ || policy_.whole() ? everything_ : selection_.next(problem_, a_, slopes_, size);
        working_ = Index(working.size());
        if (active_) return working;
        std::vector<Index> columns(working.size());
        for (std::size_t i = 0; i < working.size(); ++i) columns[i] = matrix_.column(working[i]);
        std::vector<double> diagonal(working.size());
        for (std::size_t i = 0; i < working.size(); ++i) diagonal[i] = matrix_.diagonal(columns[i]);
        block_.choose(problem_, working, diagonal);
        if (all_) {
            block_.read_from(matrix_.held(), held_stride(matrix_.size()));
            return working;
        }
        if (!(lent_block_ && block_.has_rows())) block_.make_room();
        const bool copied = gram_.row(0) != nullptr;
        if (policy_.whole() && matrix_.size() == problem_.count)
            block_.fetch_with(
                [this, copied](const std::vector<Index>& which, const std::vector<T*>& rows) {
                    // Once many rows have been wanted, the rest come too, by all threads; but not where each has its
                    // own problem to solve, or rows are only copied.
                    const bool all = !settings_.together && !copied && kMany * block_.fetched() > problem_.count;
                    if (all)
                        matrix_.whole(block_.matrix(), block_.stride());
                    else
                        matrix_.read(which, rows);
                    return all;
                },
                !copied);
        else
            matrix_.square(columns, block_.matrix(), block_.stride());
        return working;
    }

    // Minimises over the working set, into after_.
    Status minimise(const std::vector<Index>& working, Index limit, Outcome& outcome) {
        std::vector<double> a(working.size()), s(working.size());
        for (std::size_t i = 0; i < working.size(); ++i)
            a[i] = a_[working[i]], s[i] = slopes_.slope[std::size_t(working[i])];
        double largest = 0;
        for (double slope : s) largest = std::max(largest, std::abs(slope));
        const double inner = policy_.enough(slopes_.violation, largest, active_, all_ || policy_.whole());
        if (active_) return minimise_part(working, std::move(a), inner, limit, outcome);
        try {
            block_.solve(a, s, inner, limit, outcome);
        } catch (const Interrupted&) {
            if (!all_ && !policy_.whole()) throw;
            outcome.interrupted = std::current_exception(); // what the block has is worth keeping, and cheap
        }
        after_ = block_.a();
        return Status::converged;
    }

    // The same for an active set: the problem of its coefficients, the others being as they are, is decomposed.
    Status minimise_part(const std::vector<Index>& which, std::vector<double> a, double tol, Index limit,
                         Outcome& outcome) {
        const Subproblem part(problem_, which);
        std::vector<double> f;
        for (Index p : which) f.push_back(f_[std::size_t(matrix_.column(p))]);
        after_ = std::move(a);
        Settings settings = settings_;
        settings.tol = tol;
        settings.max_steps = limit;
        settings.budget -= std::min(settings.budget, plan_.of_vectors() + plan_.of_part(part.problem().count));
        // Of the whole problem, violation and gap are those of the last round.
        if (settings_.progress) find_gap();
        if (settings_.progress)
            settings.progress = [&](const Progress& within) {
                return pulse_.due() && settings_.progress(reached(within.steps, within.computed));
            };
        Decomposition inner(gram_, {}, part.problem(), nullptr, settings, after_.data(), number_);
        inner.start(f.data());
        inner.run();
        outcome.steps = inner.solved_.steps;
        within_ += inner.solved().computed;
        solved_.negative.lower(inner.solved().negative);
        return inner.solved_.status;
    }

    // Takes the coefficients found and corrects f; both or neither. Says whether any is new.
    bool commit(const std::vector<Index>& working) {
        std::vector<Index> moved;
        std::vector<double> delta;
        for (std::size_t i = 0; i < working.size(); ++i)
            if (const double change = after_[i] - a_[working[i]]; after_[i] != a_[working[i]]) {
                moved.push_back(working[i]);
                delta.push_back(change);
            }
        if (moved.empty()) return false;
        backup_ = f_;
        try {
            if (policy_.whole() && !all_)
                update_whole(moved, delta);
            else
                update(moved, delta);
        } catch (...) {
            f_ = backup_;
            throw;
        }
        for (std::size_t i = 0; i < working.size(); ++i) a_[working[i]] = after_[i];
        return true;
    }

    // All rows are in the block already.
    void update_whole(const std::vector<Index>& moved, const std::vector<double>& delta) {
        std::vector<const T*> rows;
        for (Index p : moved) rows.push_back(block_.row(p));
        std::vector<double> f(std::size_t(problem_.count));
        finish(f.data());
        scans<T>().accumulate(Index(rows.size()), problem_.count, rows.data(), delta.data(), f.data());
        start(f.data());
    }

    void update(const std::vector<Index>& moved, const std::vector<double>& delta) {
        // Two coefficients may belong to one sample.
        std::vector<Index> columns;
        std::vector<double> sums;
        place_.assign(std::size_t(matrix_.size()), -1);
        for (std::size_t i = 0; i < moved.size(); ++i) {
            const Index c = matrix_.column(moved[i]);
            Index& place = place_[std::size_t(c)];
            if (place < 0) {
                place = Index(columns.size());
                columns.push_back(c);
                sums.push_back(0);
            }
            sums[std::size_t(place)] += delta[i];
        }
        matrix_.update(columns, sums, f_.data());
    }

    // True if asked to stop.
    bool report() {
        if (settings_.stop && settings_.stop()) return true;
        if (!settings_.progress || !pulse_.due()) return false;
        find_gap();
        return settings_.progress(reached(0, 0));
    }
    void find_gap() {
        if (!total_) return; // whoever has the whole problem knows
        const Certificate c = certified();
        gap_ = c.primal - c.dual;
    }
    Certificate certified() const {
        std::vector<double> f(std::size_t(problem_.count));
        finish(f.data());
        return certify(problem_, a_, f.data(), total_);
    }
    // So many steps and rows have been added since the last round.
    Progress reached(Index steps, Index computed) const {
        return {number_,
                solved_.steps + steps,
                slopes_.violation,
                gap_,
                working_,
                problem_.count,
                solved().computed + computed,
                matrix_.capacity(),
                8 * int(sizeof(T))};
    }

    const Gram<T>& gram_;
    const Problem& problem_;
    const double* total_;
    const Settings& settings_;
    MemoryPlan<T> plan_;
    Policy policy_;
    Stopping stopping_;
    ProblemMatrix<T> matrix_;
    double* a_;
    Index number_;
    std::vector<double> f_, backup_;
    Slopes slopes_;
    Selection selection_;
    bool lent_block_;
    InnerSolver<T> own_block_;
    InnerSolver<T>& block_;
    std::vector<Index> everything_, place_;
    std::vector<double> after_; // the coefficients of the working set, once minimised
    // Whether working sets may be active sets, too large for a block, and whether this one is. What is left for rows
    // may depend on the number of threads, if each has a problem; the steps must not.
    bool vast_, active_ = false, all_ = false;
    Index working_, within_ = 0; // rows computed within active sets
    double gap_ = 0;             // when last reported
    PairedCoefficients paired_;
    double radius_ = 0; // the largest squared distance from the first sample
    Pulse pulse_;
    Solved solved_;
};

} // namespace

template <class T> void decompose(const Gram<T>& gram, const LentRows<T>& lent, const Problem& problem,
                                  const double* total, const Settings& settings, Solved& solved, bool& started,
                                  double* a, double* f, Index number) {
    Decomposition<T> decomposition(gram, lent, problem, total, settings, a, number);
    if (started)
        decomposition.start(f);
    else
        decomposition.start();
    started = true;
    try {
        decomposition.run();
    } catch (...) {
        decomposition.finish(f);
        solved.add(decomposition.solved());
        throw;
    }
    decomposition.finish(f);
    solved.add(decomposition.solved());
}

template void decompose(const Gram<float>&, const LentRows<float>&, const Problem&, const double*, const Settings&,
                        Solved&, bool&, double*, double*, Index);
template void decompose(const Gram<double>&, const LentRows<double>&, const Problem&, const double*, const Settings&,
                        Solved&, bool&, double*, double*, Index);

} // namespace mercer
