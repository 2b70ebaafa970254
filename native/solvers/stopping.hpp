// When a decomposition ends before its goal: after a number of steps, where nothing is left to gain in this precision,
// where there is no hope, or where the dual grows without bound.
#pragma once

#include "solvers/certificate.hpp"
#include "solvers/decomposition.hpp"
#include "solvers/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mercer {

class Stopping {
  public:
    // `whole`: whether the problem is its own working set; `larger`: how many times kSmall is larger than the working
    // sets there are. `part`: whether it is a part of another problem, which sees to hope.
    Stopping(const Problem& problem, const Settings& settings, bool whole, Index larger, bool part)
        : problem_(problem), limit_(settings.max_steps), stuck_after_(whole ? kStuckWhole : kStuck * larger),
          hopeful_(part || limit_ >= 0) {}

    // The steps after which it ends in any case.
    Index most_steps() const {
        if (limit_ >= 0) return limit_;
        const auto count = double(problem_.count);
        return Index(
            std::min(double(kMostSteps), std::max(kMostWork / std::min(count, double(kLarge)), kMostEach * count)));
    }
    // A precision that is not enough shows in a violation that no longer falls, though the blocks are solved; or, in
    // single precision, though much time is spent on them, as double precision can go on from there.
    void begin_round(double violation) {
        if (violation < kFallen * best_) best_ = violation, since_ = 0;
    }
    void end_round(bool counts) { since_ += counts; }
    bool stuck() const { return since_ > stuck_after_; }

    // Whether there is no hope after this many steps. certified() tells what the certificate is.
    template <class Certified> bool hopeless(Index steps, const Certified& certified) {
        if (hopeful_ || steps < std::max(kPatience, 2 * mark_.steps)) return false;
        const Checkpoint before = mark_;
        const Certificate now = certified();
        mark_ = {steps, best_, std::min(before.primal, now.primal), now.dual};
        const double rate = (now.dual - before.dual) / double(steps - before.steps);
        return before.steps > 0 && best_ >= kFallen * before.violation &&
               mark_.primal - now.dual > rate * kFarAway * double(kMostSteps);
    }

    // Whether the dual grows without bound: coefficients that have none rise and fall together, and |K^(1/2) a| shrinks
    // to nothing beside the sum of |a|, of which the others are no part to speak of. For a hard margin that is half the
    // distance between the convex hulls of the two classes. value(p) is f of a coefficient, radius() the largest
    // squared distance of a sample from one of them.
    template <class Value, class Radius> bool endless(const double* a, const Value& value, const Radius& radius) const {
        double mass = 0, held = 0, energy = 0;
        bool rises = false, falls = false;
        for (Index p = 0; p < problem_.count; ++p) {
            if (a[p] == 0) continue;
            const bool hard = problem_.ridge[p] == 0 && std::isinf(a[p] > 0 ? problem_.upper[p] : problem_.lower[p]);
            (a[p] > 0 ? rises : falls) |= hard;
            (hard ? mass : held) += std::abs(a[p]);
            energy += a[p] * value(p);
        }
        if (!rises || !falls || held > kApart * mass) return false;
        return energy <= kApart * kApart * radius() * mass * mass;
    }

  private:
    // A violation that did not fall by a tenth within this many rounds of one block, or of blocks of kSmall, falls no
    // more.
    static constexpr double kFallen = 0.9;
    static constexpr Index kStuckWhole = 20, kStuck = 500;
    // Entries that steps without another limit may read, or steps for each coefficient, if that is more.
    static constexpr double kMostWork = 1e11, kMostEach = 1000;
    // After twice this many steps, and whenever their number has doubled, a solver that nobody has set a limit gives up
    // hope: if the violation has not fallen by a tenth since, and kFarAway times kMostSteps would not close the gap at
    // the rate at which the dual rose.
    static constexpr Index kPatience = 1'000'000;
    static constexpr double kFarAway = 10;
    // Convex hulls closer than this, relative to the size of the samples, are not told apart.
    static constexpr double kApart = 1e-5;

    const Problem& problem_;
    Index limit_, stuck_after_;
    bool hopeful_;
    double best_ = std::numeric_limits<double>::infinity(); // violation
    Index since_ = 0;                                       // rounds
    struct Checkpoint {                                     // how far it was when hope was last in question
        Index steps = 0;
        double violation = 0, primal = std::numeric_limits<double>::infinity(), dual = 0;
    } mark_;
};

} // namespace mercer
