// The matrix of one problem as the decomposition uses it: blocks among a few columns, and products with a few changed
// coefficients. Rows are kept where computing them again would cost more.
#pragma once

#include "costs.hpp"
#include "gram/common_rows.hpp"
#include "gram/gram.hpp"
#include "gram/kept_rows.hpp"
#include "solvers/problem.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mercer {

// The most coefficients of a problem that is its own working set (policy.hpp) and reads rows one by one.
inline constexpr Index kWhole = 2048;

// The runs of consecutive samples that several of these problems have in common; all samples, where narrow blocks of
// the matrix are dear and enough of them are read to be worth it.
template <class T>
std::vector<Run> common_runs(const Gram<T>& gram, const std::vector<const Problem*>& problems, std::size_t budget);

template <class T> class InnerSolver;

// What a matrix lends to a problem, if anything: rows that outlive it.
template <class T> struct LentRows {
    CommonRows<T>* common = nullptr; // shared with the problems of other threads
    KeptRows<T>* kept = nullptr;     // this problem's alone, while it lasts; for one of all samples
    bool lasting = false;            // whether others will want rows that are kept
    InnerSolver<T>* block = nullptr; // with the rows of the last problem, which was of the same samples
};

struct Range { // columns first .. last - 1 are the samples first + shift ..
    Index first, last, shift;
};

template <class T> class ProblemMatrix {
  public:
    // The columns are the distinct samples of the problem. At most `budget` bytes of rows are kept.
    ProblemMatrix(const Gram<T>& gram, const Problem& problem, const LentRows<T>& lent, std::size_t budget);
    ProblemMatrix(const ProblemMatrix&) = delete;

    Index size() const { return Index(samples_.size()); }
    Index column(Index p) const { return column_.empty() ? p : column_[std::size_t(p)]; }
    // out[r * stride + c] = K between two of these columns.
    void square(const std::vector<Index>& columns, T* out, Index stride) const;
    // The same for all columns, or for some rows of it.
    void whole(T* out, Index stride);
    void read(const std::vector<Index>& columns, const std::vector<T*>& out);
    double diagonal(Index column) const { return gram_.diagonal(samples_[std::size_t(column)]); }
    // The rows of all columns where they stand, each followed by zeros up to held_stride(size()); null if they do not.
    const T* held() const { return all_held_ ? gram_.row(0) : nullptr; }
    // f += K[:, moved] delta, in double precision.
    void update(const std::vector<Index>& moved, const std::vector<double>& delta, double* f);

    Index computed() const { return computed_; } // rows
    Index capacity() const { return kept_->capacity(); }

  private:
    // Rows that moved together: those not yet known are computed for every piece of the columns.
    struct Batch {
        Index first, count;
        std::vector<Index> fresh, rows; // not yet known, among the batch, and their samples
        std::unique_ptr<typename Pairs<T>::Ready> ready;
    };
    // f += K[:, moved] delta; `left` of the rows are missing.
    void add_all(const std::vector<Index>& moved, const std::vector<std::uint8_t>& there, Index left,
                 const std::vector<double>& delta, double* f);
    void add(const Pairs<T>& pairs, const Range& piece, const Batch& batch, const Index* moved,
             const std::uint8_t* there, const double* delta, double* f);

    // The entries of these columns, of a row where it stands.
    void copy_held(const T* row, T* out) const;
    // A row in memory, if it is there: entries are by column, or by sample if the matrix is held.
    const T* known(Index column) const {
        return held_ ? gram_.row(samples_[std::size_t(column)]) : kept_->find(column);
    }

    const Gram<T>& gram_;
    bool held_, all_held_ = false;
    CommonRows<T>* common_;
    KeptRows<T>* kept_; // lent, or its own
    KeptRows<T> own_rows_;
    std::unique_ptr<Pairs<T>> own_; // if the samples lie in too many pieces for gram.all()
    std::vector<Index> samples_;    // of each column
    std::vector<Index> column_;     // of each coefficient; empty: its own number
    std::vector<Range> ranges_;
    Index computed_ = 0;
    std::vector<Batch> batches_; // of an update; the memory of what is made ready is used again
};

} // namespace mercer
