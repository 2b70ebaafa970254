#include "solvers/decomposition.hpp"

#include "solvers/block.hpp"
#include "solvers/certificate.hpp"
#include "solvers/progress.hpp"
#include "solvers/room.hpp"
#include "solvers/rows.hpp"
#include "solvers/selection.hpp"
#include "solvers/twins.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <utility>

namespace mercer {
namespace {

// The cost model. A problem of up to kWhole coefficients is its own working set; a larger one, or one that does not fit
// into the memory there is, gets working sets of kSmall, or of the number of free coefficients, up to the largest that
// there is room for.
constexpr Index kSmall = 1024;

// Once one in so many rows of a block was wanted, all the others are computed, too.
constexpr Index kMany = 8;

// A block that is a part of the problem is solved to this share of the violation at hand, but not below this one of
// tol.
constexpr double kFall = 0.1, kEnough = 0.5;

// A block that is all of the problem is solved to this share of tol. Single precision aims at it, too: rounding may
// take the rest.
constexpr double kGoal = 0.9;

// A violation that did not fall by a tenth within so many rounds of one block, or of blocks of kSmall, falls no more.
constexpr double kFallen = 0.9;
constexpr Index kStuckWhole = 20, kStuck = 500;

// A vast problem, of cheap rows or of rows that are not kept, is solved active set by active set: one in so many
// coefficients, or so many times those that are free, or a part of what makes a problem vast; unless that is half of
// all. Each is decomposed in turn, until its violation is this share of what it was.
constexpr Index kActive = 16, kPerFree = 2, kPart = 8;
constexpr double kShrunk = 0.3;

// Steps on one block before the slopes are found anew in double precision.
constexpr Index kLeastSteps = 20000, kStepsEach = 100;

// Entries that steps without another limit may read, or steps for each coefficient, if that is more.
constexpr double kMostWork = 1e11, kMostEach = 1000;

// After twice so many steps, and whenever their number has doubled, a solver that nobody has set a limit gives up hope:
// if the violation has not fallen by a tenth since, and so many times kMostSteps would not close the gap at the rate at
// which the dual rose.
constexpr Index kPatience = 1'000'000;
constexpr double kFarAway = 10;

// A tiny problem is solved to this part of tol.
constexpr double kFiner = 1e-4;

// Convex hulls closer than this, relative to the size of the samples, are not told apart.
constexpr double kApart = 1e-5;

// Whether a coefficient may grow for ever; then the solver looks at all of them together, to see whether they do.
bool unlimited(const Problem& problem, Index p) {
    return problem.ridge[p] == 0 && (std::isinf(problem.lower[p]) || std::isinf(problem.upper[p]));
}

template <class T> class Decomposition {
  public:
    // total: null if the problem is a part of another.
    Decomposition(const Gram<T>& gram, const Lent<T>& lent, const Problem& problem, const double* total,
                  const Settings& settings, double* a, Index number)
        : gram_(gram), problem_(problem), total_(total), settings_(settings), room_(gram, problem),
          largest_(room_.largest(settings.together ? settings.block : room_.left(0, settings.budget))),
          whole_(problem.count <= std::min(kWhole, largest_)),
          rows_(gram, problem, lent,
                large(settings, problem) && gram.cost() < costs::kCheap ? 0 : room_.left(largest_, settings.budget)),
          a_(a), number_(number), f_(std::size_t(rows_.size()), 0.0),
          working_(whole_ ? problem.count : std::min(kSmall, largest_)) {
        // What is left for rows may depend on the number of threads, if each has a problem; the steps must not.
        vast_ = large(settings, problem) && rows_.capacity() == 0 && gram.cost() < costs::kDear;
        for (Index p = 0; p < problem.count && vast_; ++p) vast_ = !unlimited(problem, p);
    }

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
        for (Index p = 0; p < problem_.count; ++p) f_[std::size_t(rows_.column(p))] = f[p];
    }
    void finish(double* f) const {
        for (Index p = 0; p < problem_.count; ++p) f[p] = f_[std::size_t(rows_.column(p))];
    }
    Solved solved() const {
        Solved result = solved_;
        result.computed = rows_.computed() + within_;
        result.negative.lower(block_.negative_curvature());
        return result;
    }

    void run() {
        const auto column = [&](Index p) { return rows_.column(p); };
        const double tol = (sizeof(T) == 4 ? kGoal : 1.0) * settings_.tol;
        const Index stuck = whole_ ? kStuckWhole : kStuck * std::max<Index>(1, kSmall / largest_);
        double best = std::numeric_limits<double>::infinity();
        Index since = 0;
        for (;; ++solved_.rounds) {
            slopes_.find(problem_, a_, f_.data(), column);
            solved_.violation = slopes_.violation;
            poll();
            if (report()) return done(Status::stopped);
            if (slopes_.violation <= tol) return done(Status::converged);
            if (std::isinf(slopes_.violation)) return done(Status::stalled); // the matrix overflows this precision
            if (endless()) return done(Status::unbounded);
            const Index most = most_steps();
            if (solved_.steps >= most) return done(Status::step_limit);
            // A precision that is not enough shows in a violation that no longer falls, though the blocks are solved;
            // or, in single precision, though much time is spent on them, as double precision can go on from there.
            if (slopes_.violation < kFallen * best) best = slopes_.violation, since = 0;
            if (hopeless(best)) return done(Status::stalled);
            if (since > stuck) return done(Status::stalled);
            const std::vector<Index>& working = choose();
            Index limit = most - solved_.steps;
            if (!active_) limit = std::min(limit, std::max(kLeastSteps, Index(working.size()) * kStepsEach));
            Outcome outcome;
            const Status status = minimise(working, tol, limit, outcome);
            solved_.steps += outcome.steps;
            since += sizeof(T) == 4 || outcome.steps < limit;
            const bool moved = commit(working);
            if (outcome.interrupted) std::rethrow_exception(outcome.interrupted);
            if (status == Status::stopped) return done(Status::stopped);
            if (outcome.unbounded) return done(Status::unbounded);
            if (outcome.steps >= limit) twins_.settle(problem_, rows_, a_);
            if (!moved && !active_) return done(Status::stalled);
            if (!moved || status == Status::stalled) vast_ = false; // blocks may go on where an active set does not
        }
    }

  private:
    // Whether active sets come into question.
    static bool large(const Settings& settings, const Problem& problem) {
        return !settings.together && problem.count > std::max(settings.vast, kWhole);
    }

    // Whether the dual grows without bound: coefficients that have none rise and fall together, and |K^(1/2) a| shrinks
    // to nothing beside the sum of |a|, of which the others are no part to speak of. For a hard margin that is half the
    // distance between the convex hulls of the two classes.
    bool endless() {
        double mass = 0, held = 0, energy = 0;
        bool rises = false, falls = false;
        for (Index p = 0; p < problem_.count; ++p) {
            const double a = a_[p];
            if (a == 0) continue;
            const bool hard = problem_.ridge[p] == 0 && std::isinf(a > 0 ? problem_.upper[p] : problem_.lower[p]);
            (a > 0 ? rises : falls) |= hard;
            (hard ? mass : held) += std::abs(a);
            energy += a * f_[std::size_t(rows_.column(p))];
        }
        if (!rises || !falls || held > kApart * mass) return false;
        if (radius_ == 0) { // the largest squared distance from one of the samples: a bias moves the origin anywhere
            std::vector<T> row(static_cast<std::size_t>(rows_.size()));
            rows_.read({0}, {row.data()});
            for (Index c = 0; c < rows_.size(); ++c)
                radius_ = std::max(radius_, rows_.diagonal(0) + rows_.diagonal(c) - 2 * double(row[std::size_t(c)]));
        }
        return energy <= kApart * kApart * radius_ * mass * mass;
    }

    void done(Status status) { solved_.status = status; }

    Index most_steps() const {
        if (settings_.max_steps >= 0) return settings_.max_steps;
        const auto count = double(problem_.count);
        return Index(
            std::min(double(kMostSteps), std::max(kMostWork / std::min(count, double(kLarge)), kMostEach * count)));
    }

    // The best violation so far tells whether there was progress.
    bool hopeless(double best) {
        if (!total_ || settings_.max_steps >= 0 || solved_.steps < std::max(kPatience, 2 * mark_.steps)) return false;
        const Mark before = mark_;
        const Certificate now = certified();
        mark_ = {solved_.steps, best, std::min(before.primal, now.primal), now.dual};
        const double rate = (now.dual - before.dual) / double(solved_.steps - before.steps);
        return before.steps > 0 && best >= kFallen * before.violation &&
               mark_.primal - now.dual > rate * kFarAway * double(kMostSteps);
    }

    const std::vector<Index>& choose() {
        if (whole_ && !everything_.empty()) return everything_;
        if (whole_) {
            everything_.resize(std::size_t(problem_.count));
            std::iota(everything_.begin(), everything_.end(), Index(0));
        }
        Index free = 0;
        for (Index p = 0; p < problem_.count; ++p)
            free += a_[p] > problem_.lower[p] && a_[p] < problem_.upper[p] && a_[p] != 0;
        const Index part = std::max({problem_.count / kActive, kPerFree * free, settings_.vast / kPart});
        active_ = vast_ && 2 * part < problem_.count && room_.of_part(part) <= room_.left(largest_, settings_.budget);
        const Index size = active_ ? part : std::min(std::max(free, kSmall), largest_);
        const std::vector<Index>& working = whole_ ? everything_ : selection_.next(problem_, a_, slopes_, size);
        working_ = Index(working.size());
        if (active_) return working;
        std::vector<Index> columns(working.size());
        for (std::size_t i = 0; i < working.size(); ++i) columns[i] = rows_.column(working[i]);
        std::vector<double> diagonal(working.size());
        for (std::size_t i = 0; i < working.size(); ++i) diagonal[i] = rows_.diagonal(columns[i]);
        block_.choose(problem_, working, diagonal);
        if (whole_ && rows_.size() == problem_.count)
            block_.fetch_with([&](const std::vector<Index>& which, const std::vector<T*>& rows) {
                // Once many rows have been wanted, the rest come too, by all threads; but not where each has its own
                // problem to solve.
                const bool all = !settings_.together && kMany * block_.fetched() > problem_.count;
                if (all)
                    rows_.whole(block_.matrix(), block_.stride());
                else
                    rows_.read(which, rows);
                return all;
            });
        else
            rows_.square(columns, block_.matrix(), block_.stride());
        return working;
    }

    // Minimises over the working set, into after_.
    Status minimise(const std::vector<Index>& working, double tol, Index limit, Outcome& outcome) {
        std::vector<double> a(working.size()), s(working.size());
        for (std::size_t i = 0; i < working.size(); ++i)
            a[i] = a_[working[i]], s[i] = slopes_.slope[std::size_t(working[i])];
        // The block's own slopes are rounded to T.
        double largest = 0;
        for (double slope : s) largest = std::max(largest, std::abs(slope));
        const double noise = 4 * double(std::numeric_limits<T>::epsilon()) * largest;
        const double share = (active_ ? kShrunk : kFall) * slopes_.violation;
        const double enough = whole_ ? (sizeof(T) == 8 && problem_.count <= kTiny ? kFiner : kGoal) : kEnough;
        const double inner = std::max({noise, enough * tol, whole_ ? 0.0 : share});
        if (active_) return minimise_part(working, std::move(a), inner, limit, outcome);
        try {
            block_.solve(a, s, inner, limit, outcome);
        } catch (const Interrupted&) {
            if (!whole_) throw;
            outcome.interrupted = std::current_exception(); // what the block has is worth keeping, and cheap
        }
        after_ = block_.a();
        return Status::converged;
    }

    // The same for an active set: the problem of its coefficients, the others being as they are, is decomposed.
    Status minimise_part(const std::vector<Index>& which, std::vector<double> a, double tol, Index limit,
                         Outcome& outcome) {
        const Part part(problem_, which);
        std::vector<double> f;
        for (Index p : which) f.push_back(f_[std::size_t(rows_.column(p))]);
        after_ = std::move(a);
        Settings settings = settings_;
        settings.tol = tol;
        settings.max_steps = limit;
        settings.budget -= std::min(settings.budget, room_.of_vectors() + room_.of_part(part.problem().count));
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
            if (whole_)
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
        place_.assign(std::size_t(rows_.size()), -1);
        for (std::size_t i = 0; i < moved.size(); ++i) {
            const Index c = rows_.column(moved[i]);
            Index& place = place_[std::size_t(c)];
            if (place < 0) {
                place = Index(columns.size());
                columns.push_back(c);
                sums.push_back(0);
            }
            sums[std::size_t(place)] += delta[i];
        }
        rows_.update(columns, sums, f_.data());
    }

    // True if asked to stop.
    bool report() {
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
                rows_.capacity(),
                8 * int(sizeof(T))};
    }

    const Gram<T>& gram_;
    const Problem& problem_;
    const double* total_;
    const Settings& settings_;
    Room<T> room_;
    Index largest_; // working set
    bool whole_;    // whether that is all coefficients
    Rows<T> rows_;
    double* a_;
    Index number_;
    std::vector<double> f_, backup_;
    Slopes slopes_;
    Selection selection_;
    Block<T> block_;
    std::vector<Index> everything_, place_;
    std::vector<double> after_;  // the coefficients of the working set, once minimised
    bool vast_ = false;          // whether working sets may be active sets, too large for a block ...
    bool active_ = false;        // ... and whether this one is
    Index working_, within_ = 0; // rows computed within active sets
    double gap_ = 0;             // when last reported
    struct Mark {                // how far it was when hope was last in question
        Index steps = 0;
        double violation = 0, primal = std::numeric_limits<double>::infinity(), dual = 0;
    } mark_;
    Twins twins_;
    double radius_ = 0; // the largest squared distance from the first sample
    Pulse pulse_;
    Solved solved_;
};

} // namespace

template <class T> void decompose(const Gram<T>& gram, const Lent<T>& lent, const Problem& problem, const double* total,
                                  const Settings& settings, Solved& solved, bool& started, double* a, double* f,
                                  Index number) {
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

template void decompose(const Gram<float>&, const Lent<float>&, const Problem&, const double*, const Settings&, Solved&,
                        bool&, double*, double*, Index);
template void decompose(const Gram<double>&, const Lent<double>&, const Problem&, const double*, const Settings&,
                        Solved&, bool&, double*, double*, Index);

} // namespace mercer
