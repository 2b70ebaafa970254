// The matrix of one problem as the decomposition uses it: blocks among a few columns, and products with a few changed
// coefficients. Rows are kept, least recently used out first, where computing them again would cost more.
#pragma once

#include "gram/gram.hpp"
#include "memory/slab.hpp"
#include "solvers/problem.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mercer {

// A problem of up to so many coefficients is its own working set (decomposition.cpp) and reads rows one by one.
inline constexpr Index kWhole = 2048;

// Nanoseconds to keep an entry, most of them the first touch of its memory: 3.0 to 3.6 were measured with pages of 4 KB
// (0.8 to 1.6 with huge ones, which not every system gives). A row is kept once it has cost as much to compute as to
// keep: so no more than twice is spent on it of what was best (renting skis or buying them).
inline constexpr double kKeep = 3.4;

// Nanoseconds. Entries this dear are kept however few fit, and no active sets are formed (decomposition.cpp).
inline constexpr double kDear = 4;

// Nanoseconds to pick an entry out of a row that is kept. Of dearer ones only those are computed that are in none.
inline constexpr double kGather = 12;

// The rows among runs of consecutive samples that several problems have in common (a class, in all its pairs), each
// computed when first asked for and kept. Where narrow blocks are dear and all rows fit, the run is all samples, and
// all rows are computed at once. Threads may share it.
template <class T> class Squares {
  public:
    // Keeps at most `budget` bytes, for the runs that are in more than one problem.
    Squares(const Gram<T>& gram, const std::vector<const Problem*>& problems, std::size_t budget);
    std::size_t bytes() const { return bytes_; }
    // Writes the entries of these samples with the samples first .. last - 1.
    void read(const std::vector<Index>& samples, Index first, Index last, const std::vector<T*>& out) const;

  private:
    enum State : std::uint8_t { missing, busy, ready };
    struct Square {
        Index first, last;
        std::size_t at;                                     // in the memory
        std::unique_ptr<std::atomic<std::uint8_t>[]> state; // of each row
    };
    T* kept(const Square& square, Index sample) const {
        return static_cast<T*>(memory_.data()) + square.at + (sample - square.first) * (square.last - square.first);
    }
    const Gram<T>& gram_;
    std::vector<Square> squares_;
    Slab memory_;
    std::size_t bytes_ = 0;
};

struct Range { // columns first .. last - 1 are the samples first + shift ..
    Index first, last, shift;
};

template <class T> class Rows {
  public:
    // The columns are the distinct samples of the problem. At most `budget` bytes of rows are kept.
    Rows(const Gram<T>& gram, const Problem& problem, const Squares<T>* squares, std::size_t budget);

    Index size() const { return Index(samples_.size()); }
    Index column(Index p) const { return column_.empty() ? p : column_[std::size_t(p)]; }
    // out[r * stride + c] = K between two of these columns.
    void square(const std::vector<Index>& columns, T* out, Index stride) const;
    // The same for all columns, or for some rows of it.
    void whole(T* out, Index stride) const;
    void read(const std::vector<Index>& columns, const std::vector<T*>& out) const;
    double diagonal(Index column) const { return gram_.diagonal(samples_[std::size_t(column)]); }
    // f += K[:, moved] delta, in double precision.
    void update(const std::vector<Index>& moved, const std::vector<double>& delta, double* f);

    Index computed() const { return computed_; } // rows
    Index capacity() const { return capacity_; }

  private:
    const T* kept(Index column) const {
        const Index slot = slots_[std::size_t(column)];
        return slot < 0 ? nullptr : memory() + slot * stride_;
    }
    void claim(const std::vector<Index>& missing);
    // Rows that moved together: those not yet known are computed for every piece of the columns.
    struct Batch {
        Index first, count;
        std::vector<Index> fresh, rows; // not yet known, among the batch, and their samples
        std::unique_ptr<typename Pairs<T>::Ready> ready;
    };
    void add(const Pairs<T>& pairs, const Range& piece, const Batch& batch, const Index* moved,
             const std::uint8_t* known, const double* delta, double* f);

    const Gram<T>& gram_;
    const Squares<T>* squares_;
    std::unique_ptr<Pairs<T>> own_; // if the samples lie in too many pieces for gram.all()
    std::vector<Index> samples_;    // of each column
    std::vector<Index> column_;     // of each coefficient; empty: its own number
    std::vector<Range> ranges_;
    Index capacity_ = 0, stride_ = 0, round_ = 0, computed_ = 0;
    T* memory() const { return static_cast<T*>(memory_.data()); }
    Slab memory_;
    std::vector<Batch> batches_;               // of an update; the memory of what is made ready is used again
    std::vector<Index> slots_, owners_, used_; // of a column; of a slot: its column and when it was last used
    int uses_ = 1;                             // a row is kept when it is computed for so many a time
    std::vector<std::uint8_t> seen_;           // how often the row of a column was computed
};

} // namespace mercer
