// Rows of a matrix that have been computed and are kept, the least recently used out first. They live as long as the
// matrix does, so that whoever comes second finds the rows of the first; one user at a time.
#pragma once

#include "memory/slab.hpp"
#include "samples/source.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mercer {

template <class T> class KeptRows {
  public:
    // Makes ready for rows of this length, of which at most `capacity` fit. What is kept stays if it is of that length
    // and still fits, unless there is now room for twice as many. A row is kept when it is computed for the `uses`-th
    // time.
    void prepare(Index length, Index capacity, int uses);
    Index capacity() const { return capacity_; }
    Index length() const { return Index(slots_.size()); }
    // Bytes of a row and of what is known of it.
    static std::size_t bytes_each(Index length) { return std::size_t(stride(length)) * sizeof(T) + 2 * sizeof(Index); }
    std::size_t bytes() const { return owners_.size() * bytes_each(length()); }

    const T* find(Index row) const {
        const Index slot = slots_[std::size_t(row)];
        return slot < 0 ? nullptr : memory() + slot * stride_;
    }
    // Where the values of a row go that has been claimed; null if it has no place.
    T* place(Index row) { return const_cast<T*>(find(row)); }

    // Rows used or claimed in a round do not make way for others of the same round.
    void begin_round() {
        ++round_;
        claimed_.clear();
    }
    void use(Index row) { used_[std::size_t(slots_[std::size_t(row)])] = round_; }
    // Gives every missing row that is worth it a place, while there are any. They must be written then, all of them, or
    // be disclaimed.
    void claim(const std::vector<Index>& missing);
    // Rows claimed in this round were not written after all.
    void disclaim();
    // Forgets everything and gives the memory back.
    void drop();

  private:
    static Index stride(Index length);
    T* memory() const { return static_cast<T*>(memory_.data()); }

    Index capacity_ = 0, stride_ = 0, round_ = 0;
    int uses_ = 1;
    Slab memory_;
    std::vector<Index> slots_, owners_, used_, claimed_; // of a row; of a slot: its row and when it was last used
    std::vector<std::uint8_t> seen_;                     // how often a row was computed
};

} // namespace mercer
