// The one problem behind every machine with a quadratic dual (the same as mercer/problem.py):
//
//   minimise over a   1/2 a'(K + diag(ridge)) a - q'a + l1'|a|
//   subject to        lower <= a <= upper,   sum of a in each group unchanged
//
// K carries no labels. With f = K a, the slope of coefficient p is q_p - f_p - ridge_p a_p, less l1_p where a_p is
// positive or rises from zero, plus l1_p where it is negative or falls from zero.
//
// Steinwart and Christmann, "Support Vector Machines" (2008), chapter 11; signed coefficients, with the labels in the
// bounds, after Igel, Heidrich-Meisner and Glasmachers, "Shark" (2008).
#pragma once

#include "samples/source.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace mercer {

struct Problem {
    Index count = 0;
    const double *q = nullptr, *lower = nullptr, *upper = nullptr, *l1 = nullptr, *ridge = nullptr;
    const Index* sample = nullptr; // which sample of the Gram matrix a coefficient belongs to; null: its own number
    const std::uint8_t* group = nullptr; // 0 or 1; null: all 0
    int groups = 1;

    Index sample_of(Index p) const { return sample ? sample[p] : p; }
    int group_of(Index p) const { return group ? group[p] : 0; }
    // Whether its samples, in the order in which they first come, are all of the matrix's as they stand there.
    bool of_all(Index samples) const {
        Index next = 0;
        for (Index p = 0; p < count; ++p) {
            if (sample_of(p) > next) return false;
            next += sample_of(p) == next;
        }
        return next == samples;
    }

    // What is added to the slope of coefficient p when it is at a and rises (falls); infinite where it may not.
    double rise(Index p, double a) const {
        if (!(a < upper[p])) return -std::numeric_limits<double>::infinity();
        return a >= 0 ? -l1[p] : l1[p];
    }
    double fall(Index p, double a) const {
        if (!(a > lower[p])) return std::numeric_limits<double>::infinity();
        return a > 0 ? -l1[p] : l1[p];
    }
    // How far coefficient p may rise (fall) from a before its bound, or before zero, where the slope jumps.
    double room_above(Index p, double a) const { return a < 0 && l1[p] > 0 ? -a : upper[p] - a; }
    double room_below(Index p, double a) const { return a > 0 && l1[p] > 0 ? a : a - lower[p]; }
};

// The most negative curvature of K along a pair of samples that a solver has met: K_ii + K_jj - 2 K_ij as a share of
// |K_ii| + |K_jj|. It is a squared distance where K is positive semi-definite, and then never negative.
struct NegativeCurvature {
    double share = 0;
    Index i = -1, j = -1; // samples; -1 where none was met

    void lower(const NegativeCurvature& other) {
        if (other.share < share) *this = other;
    }
};

// Moves a into the bounds, and then the first coefficients of each group as far as its total asks: so LIBSVM starts its
// nu machines.
bool make_feasible(const Problem& problem, const double* total, double* a);

// Some coefficients of a problem as a problem of their own, in which the others stay as they are: f = K a of all.
class Subproblem {
  public:
    Subproblem(const Problem& whole, const std::vector<Index>& which) {
        const auto count = which.size();
        numbers_.reserve(5 * count);
        for (const double* all : {whole.q, whole.lower, whole.upper, whole.l1, whole.ridge})
            for (Index p : which) numbers_.push_back(all[p]);
        for (Index p : which) {
            sample_.push_back(whole.sample_of(p));
            group_.push_back(std::uint8_t(whole.group_of(p)));
        }
        const double* n = numbers_.data();
        problem_ = {Index(count),   n,
                    n + count,      n + 2 * count,
                    n + 3 * count,  n + 4 * count,
                    sample_.data(), whole.group ? group_.data() : nullptr,
                    whole.groups};
    }
    Subproblem(const Subproblem&) = delete;
    const Problem& problem() const { return problem_; }

  private:
    std::vector<double> numbers_;
    std::vector<Index> sample_;
    std::vector<std::uint8_t> group_;
    Problem problem_;
};

} // namespace mercer
