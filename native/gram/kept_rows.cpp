#include "gram/kept_rows.hpp"

#include <algorithm>
#include <limits>

namespace mercer {

// Rows begin on a line of the processor's cache.
constexpr Index kLine = 16;

template <class T> Index KeptRows<T>::stride(Index length) { return (length + kLine - 1) / kLine * kLine; }

template <class T> void KeptRows<T>::prepare(Index length, Index capacity, int uses) {
    uses_ = std::clamp(uses, 1, int(std::numeric_limits<std::uint8_t>::max()));
    if (length != Index(slots_.size()) || Index(owners_.size()) > capacity || capacity >= 2 * capacity_) {
        drop();
        stride_ = stride(length), capacity_ = capacity;
        slots_.assign(std::size_t(length), -1);
        seen_.assign(std::size_t(length), 0);
    }
    capacity_ = std::min(capacity_, capacity);
}

template <class T> void KeptRows<T>::drop() {
    memory_.release();
    owners_.clear(), used_.clear(), claimed_.clear();
    std::fill(slots_.begin(), slots_.end(), -1);
    std::fill(seen_.begin(), seen_.end(), std::uint8_t(0));
}

template <class T> void KeptRows<T>::claim(const std::vector<Index>& missing) {
    if (capacity_ == 0) return;
    std::vector<Index> worth;
    for (Index c : missing) {
        std::uint8_t& seen = seen_[std::size_t(c)];
        if (seen >= uses_ || ++seen >= uses_) worth.push_back(c);
    }
    if (worth.empty()) return;
    if (!memory()) memory_.reserve(std::size_t(capacity_ * stride_) * sizeof(T));
    std::vector<Index> old; // slots, the least recently used last
    std::size_t wanted = worth.size();
    wanted -= std::min(wanted, std::size_t(capacity_) - owners_.size());
    if (wanted > 0) {
        for (Index s = 0; s < Index(owners_.size()); ++s)
            if (used_[std::size_t(s)] < round_) old.push_back(s);
        std::sort(old.begin(), old.end(), [&](Index a, Index b) {
            return used_[std::size_t(a)] != used_[std::size_t(b)] ? used_[std::size_t(a)] > used_[std::size_t(b)]
                                                                  : a > b;
        });
    }
    for (Index c : worth) {
        Index slot = Index(owners_.size());
        if (slot < capacity_) {
            owners_.push_back(c);
            used_.push_back(round_);
        } else if (!old.empty()) {
            slot = old.back();
            old.pop_back();
            if (const Index owner = owners_[std::size_t(slot)]; owner >= 0) slots_[std::size_t(owner)] = -1;
            owners_[std::size_t(slot)] = c;
            used_[std::size_t(slot)] = round_;
        } else {
            return;
        }
        slots_[std::size_t(c)] = slot;
        claimed_.push_back(c);
    }
}

template <class T> void KeptRows<T>::disclaim() {
    for (Index c : claimed_) {
        const Index slot = slots_[std::size_t(c)];
        slots_[std::size_t(c)] = -1;
        owners_[std::size_t(slot)] = -1; // the slot is free, and the first to be given away
        used_[std::size_t(slot)] = -1;
    }
    claimed_.clear();
}

template class KeptRows<float>;
template class KeptRows<double>;

} // namespace mercer
