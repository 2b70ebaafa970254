// What the decomposition chooses: the size of its working sets, whether they are active sets, and how far each is
// solved.
#pragma once

#include "costs.hpp"
#include "solvers/decomposition.hpp"
#include "solvers/memory_plan.hpp"
#include "solvers/problem.hpp"
#include "solvers/problem_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace mercer {

// A problem of up to kWhole coefficients is its own working set; a larger one, or one that does not fit into the memory
// there is, gets working sets of kSmall, or of the number of free coefficients, up to the largest that there is memory
// for.
inline constexpr Index kSmall = 1024;

// Where all rows stand in memory, a working set of all coefficients needs no copy of them. A problem of up to this
// number begins with that.
inline constexpr Index kWholeHeld = 16384;

// Once one in this many rows of a block was wanted, all the others are computed, too.
inline constexpr Index kMany = 8;

class Policy {
  public:
    template <class T>
    Policy(const Gram<T>& gram, const Problem& problem, const Settings& settings, const MemoryPlan<T>& plan)
        : problem_(problem), settings_(settings), cost_(gram.cost()) {
        largest_ = plan.largest(settings.together ? settings.block : plan.left(0, settings.budget));
        whole_ = problem.count <= std::min(kWhole, largest_);
        left_ = plan.left(largest_, settings.budget);
        of_rows_ = large() && cost_ < costs::kCheap ? 0 : left_;
        of_part_ = plan.of_part(1);
        goal_ = sizeof(T) == 4 ? kGoal : 1.0;
        epsilon_ = double(std::numeric_limits<T>::epsilon());
        if (whole_) goal_of_whole_ = sizeof(T) == 8 && problem.count <= kTiny ? kFiner : kGoal;
    }

    // Whether the problem is its own working set.
    bool whole() const { return whole_; }
    // Whether the next working set of a problem whose rows all stand in memory is all of it: at first, and as long as
    // blocks would be as large.
    bool all(Index free, Index round) const {
        return problem_.count <= kWholeHeld && (round == 0 || 2 * block(free) > problem_.count);
    }
    // The largest working set that there is memory for.
    Index largest() const { return largest_; }
    // Bytes for rows that are kept.
    std::size_t of_rows() const { return of_rows_; }
    // The violation at which the problem is solved, in this precision.
    double goal() const { return goal_ * settings_.tol; }

    // Whether active sets come into question, where this many rows are kept.
    bool vast(Index kept) const {
        if (!large() || kept > 0 || cost_ >= costs::kDear) return false;
        for (Index p = 0; p < problem_.count; ++p)
            if (unlimited(p)) return false;
        return true;
    }
    // The size of the next active set, if there are this many free coefficients; 0 if it had better be a block.
    Index active(Index free) const {
        const Index part = std::max({problem_.count / kActive, kPerFree * free, settings_.vast / kPart});
        return 2 * part < problem_.count && std::size_t(part) * of_part_ <= left_ ? part : 0;
    }
    // The size of the next block.
    Index block(Index free) const { return std::min(std::max(free, kSmall), largest_); }
    // The size of the first one.
    Index first() const { return whole_ ? problem_.count : std::min(kSmall, largest_); }

    // The violation to which a working set is solved, where the problem's is this one and the largest slope that one.
    double enough(double violation, double largest_slope, bool active, bool all) const {
        const double noise = 4 * epsilon_ * largest_slope; // a block's own slopes are rounded
        if (all) return std::max(noise, goal_of_whole_ * goal());
        return std::max({noise, kEnough * goal(), (active ? kShrunk : kFall) * violation});
    }
    // The steps on one working set before the slopes are found anew in double precision.
    static Index steps(Index working) { return std::max(kLeastSteps, working * kStepsEach); }
    // The steps with all coefficients before blocks of them, whose steps are cheaper, take over.
    Index steps_of_all() const { return kAllEach * problem_.count; }

  private:
    // A block that is a part of the problem is solved to this share of the violation at hand, but not below this one of
    // the goal.
    static constexpr double kFall = 0.1, kEnough = 0.5;
    // A block that is all of the problem is solved to this share of the goal. Single precision aims at it, too:
    // rounding may take the rest.
    static constexpr double kGoal = 0.9;
    // A tiny problem is solved to this part of tol.
    static constexpr double kFiner = 1e-4;
    // A vast problem, of cheap rows or of rows that are not kept, is solved active set by active set: one in kActive
    // coefficients, or kPerFree times those that are free, or a part of what makes a problem vast; unless that is half
    // of all. Each is decomposed in turn, until its violation is this share of what it was.
    static constexpr Index kActive = 16, kPerFree = 2, kPart = 8;
    static constexpr double kShrunk = 0.3;
    static constexpr Index kLeastSteps = 20000, kStepsEach = 100, kAllEach = 2;

    bool large() const { return !settings_.together && problem_.count > std::max(settings_.vast, kWhole); }
    // Whether a coefficient may grow for ever; then the solver looks at all of them together, to see whether they do.
    bool unlimited(Index p) const {
        return problem_.ridge[p] == 0 && (std::isinf(problem_.lower[p]) || std::isinf(problem_.upper[p]));
    }

    const Problem& problem_;
    const Settings& settings_;
    double cost_, goal_, epsilon_, goal_of_whole_ = kGoal;
    Index largest_;
    bool whole_;
    std::size_t of_rows_, left_, of_part_;
};

} // namespace mercer
