#include "expansion/knot_search.hpp"

#include <limits>

namespace mercer {

template <class A> KnotSearch<A>::KnotSearch(const std::vector<A>& knots) : size_(Index(knots.size())) {
    if (knots.empty()) return;
    auto bits = [](A knot) { return std::bit_cast<std::int64_t>(double(knot)); };
    const std::int64_t low = bits(knots.front()), high = bits(knots.back());
    // Positive numbers are ordered as their bits are; one to two buckets for each knot.
    while (((high - low) >> shift_) > 2 * size_) ++shift_;
    first_ = low >> shift_;
    const Index buckets = (high >> shift_) - first_ + 1;
    guide_.assign(std::size_t(buckets) + 1, std::int32_t(size_));
    for (Index k = size_; k-- > 0;)
        guide_[std::size_t((bits(knots[std::size_t(k)]) >> shift_) - first_)] = std::int32_t(k);
    Index fullest = 0;
    for (auto b = std::size_t(buckets); b-- > 0;) {
        guide_[b] = std::min(guide_[b], guide_[b + 1]);
        fullest = std::max<Index>(fullest, guide_[b + 1] - guide_[b]);
    }
    for (reach_ = 1; reach_ <= fullest;) reach_ *= 2;
    knots_.assign(std::size_t(size_ + reach_ + 1), std::numeric_limits<A>::infinity());
    knots_.front() = 0;
    std::copy(knots.begin(), knots.end(), knots_.begin() + 1);
}

template class KnotSearch<float>;
template class KnotSearch<double>;

} // namespace mercer
