// Where a number lies among sorted knots, found in a few steps however many knots there are.
#pragma once

#include "samples/source.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace mercer {

// Sorted positive knots, and where to look among them: one bucket for each range of the leading bits of a number. A few
// halvings of the fullest bucket follow, the same number for every t and without a branch, so that searches overlap.
class Ladder {
  public:
    Ladder() = default;
    explicit Ladder(const std::vector<double>& knots);
    bool empty() const { return size_ == 0; }
    Index size() const { return size_; }
    // The number of knots <= t, for each of `count` numbers >= 0.
    template <class T> void below(const T* t, Index count, std::int32_t* places) const {
        const double* knots = knots_.data();
        for (Index e = 0; e < count; ++e) places[e] = guide_[std::size_t(bucket(double(t[e])))];
        for (Index half = reach_ / 2; half > 0; half /= 2)
            for (Index e = 0; e < count; ++e)
                places[e] += std::int32_t(knots[places[e] + half] <= double(t[e]) ? half : 0);
    }
    // The largest knot below, by the number of those; 0 if there is none.
    double floor(std::int32_t place) const { return knots_[std::size_t(place)]; }
    std::size_t bytes() const { return knots_.size() * sizeof(double) + guide_.size() * sizeof(std::int32_t); }

  private:
    Index bucket(double t) const {
        return std::clamp<Index>((std::bit_cast<std::int64_t>(t) >> shift_) - first_, 0, Index(guide_.size()) - 1);
    }

    Index size_ = 0;
    std::vector<double> knots_;       // 0, the knots, then infinity, as often as a search may look beyond the end
    std::vector<std::int32_t> guide_; // guide_[b]: the knots below bucket b; the last bucket is beyond all knots
    int shift_ = 0;
    Index first_ = 0; // the leading bits of the lowest knot
    Index reach_ = 0; // a power of two, more than the fullest bucket holds
};

} // namespace mercer
