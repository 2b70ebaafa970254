// The rows among runs of consecutive samples that several problems have in common (a class, in all its pairs; or all
// samples), each computed when first asked for and kept. Threads may share it.
#pragma once

#include "gram/gram.hpp"
#include "memory/slab.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mercer {

// Writes rows of a matrix among a range of its columns, on the calling thread alone.
template <class T> void read_rows(const Pairs<T>& pairs, const std::vector<Index>& rows, Index first, Index last,
                                  const std::vector<T*>& out);

using Run = std::pair<Index, Index>; // samples first .. last - 1

template <class T> class CommonRows {
  public:
    // Keeps the rows of those runs, in this order, that fit into `budget` bytes.
    CommonRows(const Gram<T>& gram, const std::vector<Run>& runs, std::size_t budget);
    const std::vector<Run>& runs() const { return wanted_; }
    // Whether the rows of all samples are among them.
    bool whole() const { return !squares_.empty() && squares_.front().last - squares_.front().first == gram_.size(); }
    std::size_t bytes() const { return bytes_; }
    // Where the first run is all samples: computes its rows at once, by all threads; says how many were not known.
    Index complete();
    // Writes the entries of these samples with the samples first .. last - 1, and says how many rows it computed.
    Index read(const std::vector<Index>& samples, Index first, Index last, const std::vector<T*>& out) const;

  private:
    enum RowState : std::uint8_t { missing, busy, ready };
    struct Square {
        Index first, last;
        std::size_t at;                                     // in the memory
        std::unique_ptr<std::atomic<std::uint8_t>[]> state; // of each row
    };
    T* kept(const Square& square, Index sample) const {
        return static_cast<T*>(memory_.data()) + square.at + (sample - square.first) * (square.last - square.first);
    }
    const Gram<T>& gram_;
    std::vector<Run> wanted_;
    std::vector<Square> squares_;
    Slab memory_;
    std::size_t bytes_ = 0;
};

} // namespace mercer
