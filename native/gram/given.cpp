// Matrices whose entries are had one by one: those that exist, read where they lie, and those of pairs that cannot be
// bound anew for some of the samples.
#include "costs.hpp"
#include "gram/gram.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>

namespace mercer {
namespace {

constexpr Index kRows = 16; // of a task

template <class T, class S> class GivenPairs final : public Pairs<T> {
  public:
    GivenPairs(const S* data, Index row_stride, Index column_stride, std::vector<Index> rows,
               std::vector<Index> columns)
        : data_(data), row_stride_(row_stride), column_stride_(column_stride), rows_(std::move(rows)),
          columns_(std::move(columns)) {
        while (plain_ < Index(columns_.size()) && columns_[std::size_t(plain_)] == columns_.front() + plain_) ++plain_;
        if (column_stride_ != 1) plain_ = 0;
    }
    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        parallel((rows + kRows - 1) / kRows, [&](long t) {
            for (Index r = t * kRows; r < std::min(rows, (t + 1) * kRows); ++r)
                read(index ? index[r] : first_row + r, first_column, last_column, out + r * stride);
        });
    }
    // A given matrix is symmetric up to rounding: what is right of the diagonal counts.
    void fill_symmetric(T* out, Index stride) const override {
        const Index n = Index(rows_.size());
        fill(nullptr, 0, n, 0, n, out, stride);
        constexpr Index kTile = 64;
        const Index tiles = (n + kTile - 1) / kTile;
        parallel(tiles * tiles, [&](long t) {
            const Index i0 = t / tiles * kTile, j0 = t % tiles * kTile;
            for (Index i = i0; j0 <= i0 && i < std::min(n, i0 + kTile); ++i)
                for (Index j = j0; j < std::min(i, j0 + kTile); ++j) out[i * stride + j] = out[j * stride + i];
        });
    }

  private:
    void read(Index i, Index first, Index last, T* out) const {
        const S* row = data_ + rows_[std::size_t(i)] * row_stride_;
        if (last <= plain_) {
            const S* from = row + columns_.front() + first;
            for (Index j = 0; j < last - first; ++j) out[j] = T(from[j]);
        } else {
            for (Index j = first; j < last; ++j) out[j - first] = T(row[columns_[std::size_t(j)] * column_stride_]);
        }
    }

    const S* data_;
    Index row_stride_, column_stride_;
    std::vector<Index> rows_, columns_;
    Index plain_ = 0; // the number of columns that lie side by side, from the first on
};

std::vector<Index> places(const std::vector<Index>& samples, const std::vector<Index>& order) {
    std::vector<Index> result;
    result.reserve(samples.size());
    for (Index i : samples) result.push_back(order[std::size_t(i)]);
    return result;
}

template <class T, class S> class GivenGram final : public Gram<T> {
  public:
    GivenGram(const S* data, std::vector<Index> order, Index row_stride, Index column_stride, double largest)
        : data_(data), order_(std::move(order)), row_stride_(row_stride), column_stride_(column_stride),
          errors_(std::is_same_v<S, double> && !std::is_same_v<T, S>
                      ? double(std::numeric_limits<float>::epsilon()) * largest
                      : 0.0),
          all_(data, row_stride, column_stride, order_, order_) {}
    Index size() const override { return Index(order_.size()); }
    std::unique_ptr<Pairs<T>> between(const std::vector<Index>& rows,
                                      const std::vector<Index>& columns) const override {
        return std::make_unique<GivenPairs<T, S>>(data_, row_stride_, column_stride_, places(rows, order_),
                                                  places(columns, order_));
    }
    const Pairs<T>& all() const override { return all_; }
    double diagonal(Index i) const override {
        return double(T(data_[order_[std::size_t(i)] * (row_stride_ + column_stride_)]));
    }
    std::size_t bytes() const override { return 0; }
    std::size_t bytes_each() const override { return 0; }
    double cost() const override { return costs::kStored; }
    const EntryErrors& errors() const override { return errors_; }
    bool rounded() const override { return errors_.largest() > 0; }

  private:
    const S* data_;
    std::vector<Index> order_;
    Index row_stride_, column_stride_;
    EntryErrors errors_;
    GivenPairs<T, S> all_;
};

// Some rows and some columns of other pairs; columns that follow each other there are computed together.
template <class T> class SomePairs final : public Pairs<T> {
  public:
    SomePairs(std::shared_ptr<const Pairs<T>> pairs, std::vector<Index> rows, std::vector<Index> columns)
        : pairs_(std::move(pairs)), rows_(std::move(rows)), columns_(std::move(columns)) {}
    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        std::vector<Index> which;
        for (Index r = 0; r < rows; ++r) which.push_back(rows_[std::size_t(index ? index[r] : first_row + r)]);
        const auto column = [&](Index j) { return columns_[std::size_t(j)]; };
        std::vector<Index> runs;
        for (Index j = first_column; j < last_column; ++j)
            if (j == first_column || column(j) != column(j - 1) + 1) runs.push_back(j);
        runs.push_back(last_column);
        parallel(Index(runs.size()) - 1, [&](long t) {
            const Index j0 = runs[std::size_t(t)], j1 = runs[std::size_t(t) + 1];
            pairs_->fill(which.data(), 0, rows, column(j0), column(j1 - 1) + 1, out + (j0 - first_column), stride);
        });
    }
    void fill_symmetric(T* out, Index stride) const override {
        const Index n = Index(rows_.size());
        fill(nullptr, 0, n, 0, n, out, stride);
    }
    Index grain() const override { return pairs_->grain(); }
    bool narrow() const override { return pairs_->narrow(); }

  private:
    std::shared_ptr<const Pairs<T>> pairs_;
    std::vector<Index> rows_, columns_;
};

template <class T> class PairsGram final : public Gram<T> {
  public:
    PairsGram(std::shared_ptr<const Pairs<T>> pairs, std::vector<Index> order, double cost)
        : pairs_(pairs), order_(std::move(order)), cost_(cost), all_(pairs, order_, order_) {}
    Index size() const override { return Index(order_.size()); }
    std::unique_ptr<Pairs<T>> between(const std::vector<Index>& rows,
                                      const std::vector<Index>& columns) const override {
        return std::make_unique<SomePairs<T>>(pairs_, places(rows, order_), places(columns, order_));
    }
    const Pairs<T>& all() const override { return all_; }
    double diagonal(Index i) const override {
        std::call_once(once_, [&] {
            diagonal_.resize(order_.size());
            parallel(size(), [&](long k) {
                const Index at = order_[std::size_t(k)];
                pairs_->fill(&at, 0, 1, at, at + 1, diagonal_.data() + k, 1);
            });
        });
        return double(diagonal_[std::size_t(i)]);
    }
    std::size_t bytes() const override { return 0; }
    std::size_t bytes_each() const override { return 0; }
    double cost() const override { return cost_; }
    const EntryErrors& errors() const override { return errors_; }

  private:
    std::shared_ptr<const Pairs<T>> pairs_;
    std::vector<Index> order_;
    double cost_;
    EntryErrors errors_;
    SomePairs<T> all_;
    mutable std::once_flag once_;
    mutable std::vector<T> diagonal_;
};

} // namespace

template <class T, class S> std::unique_ptr<Gram<T>> given_gram(const S* data, std::vector<Index> order,
                                                                Index row_stride, Index column_stride, double largest) {
    return std::make_unique<GivenGram<T, S>>(data, std::move(order), row_stride, column_stride, largest);
}
template <class T, class S> std::unique_ptr<Pairs<T>> given_pairs(const S* data, Index row_stride, Index column_stride,
                                                                  std::vector<Index> rows, std::vector<Index> columns) {
    return std::make_unique<GivenPairs<T, S>>(data, row_stride, column_stride, std::move(rows), std::move(columns));
}
template <class T>
std::unique_ptr<Gram<T>> pairs_gram(std::shared_ptr<const Pairs<T>> pairs, std::vector<Index> order, double cost) {
    return std::make_unique<PairsGram<T>>(std::move(pairs), std::move(order), cost);
}

#define MERCER_GIVEN(T, S)                                                                                             \
    template std::unique_ptr<Gram<T>> given_gram(const S*, std::vector<Index>, Index, Index, double);                  \
    template std::unique_ptr<Pairs<T>> given_pairs(const S*, Index, Index, std::vector<Index>, std::vector<Index>);
MERCER_GIVEN(float, float)
MERCER_GIVEN(float, double)
MERCER_GIVEN(double, float)
MERCER_GIVEN(double, double)
template std::unique_ptr<Gram<float>> pairs_gram(std::shared_ptr<const Pairs<float>>, std::vector<Index>, double);
template std::unique_ptr<Gram<double>> pairs_gram(std::shared_ptr<const Pairs<double>>, std::vector<Index>, double);

} // namespace mercer
