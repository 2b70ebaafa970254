// Words, sequences of integers, each with a number of its own: 0, 1, 2, ... in the order they were learnt.
// Two words have the same number exactly if they are equal; hashes only say where to look.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mercer {

class Words {
  public:
    Words() : slots_(64, -1) {}

    std::int32_t size() const { return std::int32_t(hashes_.size()); }
    const std::int32_t* begin(std::int32_t number) const { return letters_.data() + starts_[std::size_t(number)]; }
    const std::int32_t* end(std::int32_t number) const { return letters_.data() + starts_[std::size_t(number) + 1]; }
    // All words, one after the other, and where each begins among them; one offset more says where the last ends.
    const std::vector<std::int32_t>& letters() const { return letters_; }
    const std::vector<std::size_t>& starts() const { return starts_; }
    // Forgets everything and keeps the memory.
    void clear() {
        letters_.clear(), hashes_.clear(), starts_.assign(1, 0);
        std::fill(slots_.begin(), slots_.end(), -1);
    }

    // The number of a word, or -1.
    std::int32_t find(const std::int32_t* first, const std::int32_t* last) const {
        return slots_[place(first, last, hash(first, last))];
    }
    // The number of a word, a new one if it had none.
    std::int32_t learn(const std::int32_t* first, const std::int32_t* last) {
        const std::uint64_t h = hash(first, last);
        const std::size_t slot = place(first, last, h);
        if (slots_[slot] >= 0) return slots_[slot];
        const std::int32_t number = size();
        slots_[slot] = number;
        letters_.insert(letters_.end(), first, last);
        starts_.push_back(letters_.size());
        hashes_.push_back(h);
        if (2 * hashes_.size() > slots_.size()) grow();
        return number;
    }

  private:
    static std::uint64_t hash(const std::int32_t* first, const std::int32_t* last) {
        std::uint64_t h = 0x9e3779b97f4a7c15ull ^ std::uint64_t(last - first);
        for (; first != last; ++first) {
            h = (h ^ std::uint32_t(*first)) * 0xff51afd7ed558ccdull;
            h ^= h >> 32;
        }
        return h;
    }
    // The slot of a word, or the empty one where it belongs.
    std::size_t place(const std::int32_t* first, const std::int32_t* last, std::uint64_t h) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = std::size_t(h) & mask;
        for (; slots_[slot] >= 0; slot = (slot + 1) & mask)
            if (hashes_[std::size_t(slots_[slot])] == h &&
                std::equal(first, last, begin(slots_[slot]), end(slots_[slot])))
                break;
        return slot;
    }
    void grow() {
        slots_.assign(2 * slots_.size(), -1);
        const std::size_t mask = slots_.size() - 1;
        for (std::int32_t number = 0; number < size(); ++number) {
            std::size_t slot = std::size_t(hashes_[std::size_t(number)]) & mask;
            while (slots_[slot] >= 0) slot = (slot + 1) & mask;
            slots_[slot] = number;
        }
    }

    std::vector<std::int32_t> letters_;
    std::vector<std::size_t> starts_{0};
    std::vector<std::uint64_t> hashes_;
    std::vector<std::int32_t> slots_; // numbers, at least half of them -1: none
};

} // namespace mercer
