// Where a number lies among sorted knots, found in a few steps however many knots there are.
#pragma once

#include "samples/source.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <vector>

namespace mercer {

// Sorted positive knots, and where to look among them: one bucket for each range of the leading bits of a number. A few
// halvings of the fullest bucket follow, the same number for every t and without a branch, so that searches overlap.
template <class A> class KnotSearch { // A: float or double
  public:
    KnotSearch() = default;
    explicit KnotSearch(const std::vector<A>& knots);
    bool empty() const { return size_ == 0; }
    Index size() const { return size_; }
    // The number of knots <= t, for each of `count` numbers >= 0.
    template <class T> void below(const T* t, Index count, std::int32_t* places) const {
        using Both = std::common_type_t<A, T>;
        const A* knots = knots_.data();
        for (Index e = 0; e < count; ++e) places[e] = guide_[std::size_t(bucket(double(t[e])))];
        for (Index half = reach_ / 2; half > 0; half /= 2)
            for (Index e = 0; e < count; ++e)
                places[e] += std::int32_t(Both(knots[places[e] + half]) <= Both(t[e]) ? half : 0);
    }
    // The largest knot below, by the number of those; 0 if there is none.
    double floor(std::int32_t place) const { return double(knots_[std::size_t(place)]); }
    std::size_t bytes() const { return knots_.size() * sizeof(A) + guide_.size() * sizeof(std::int32_t); }
    // Asks the memory for a part of all that searches look at, from one fraction to another.
    void fetch(double from, double to) const {
        fetch(knots_, from, to);
        fetch(guide_, from, to);
    }

  private:
    template <class V> static void fetch(const std::vector<V>& values, double from, double to) {
        const double size = double(values.size() * sizeof(V));
        const auto* bytes = reinterpret_cast<const char*>(values.data());
        for (Index b = Index(size * from); b < Index(size * to); b += 64) __builtin_prefetch(bytes + b, 0, 2);
    }
    Index bucket(double t) const {
        return std::clamp<Index>((std::bit_cast<std::int64_t>(t) >> shift_) - first_, 0, Index(guide_.size()) - 1);
    }

    Index size_ = 0;
    std::vector<A> knots_;            // 0, the knots, then infinity, as often as a search may look beyond the end
    std::vector<std::int32_t> guide_; // guide_[b]: the knots below bucket b; the last bucket is beyond all knots
    int shift_ = 0;
    Index first_ = 0; // the leading bits of the lowest knot
    Index reach_ = 0; // a power of two, more than the fullest bucket holds
};

} // namespace mercer
