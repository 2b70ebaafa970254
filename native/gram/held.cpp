// A matrix that has been computed whole and stands in memory, for whoever solves many problems on it.
#include "costs.hpp"
#include "gram/gram.hpp"
#include "memory/buffer.hpp"
#include "solvers/scan.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mercer {
namespace {

// Of a number that is rounded to single precision.
constexpr double kRounding = 6e-8;

class HeldGram final : public Gram<float> {
  public:
    explicit HeldGram(const Gram<double>& source) : size_(source.size()), stride_(held_stride(size_)) {
        auto* data = static_cast<float*>(memory_.reserve(std::size_t(size_ * stride_) * sizeof(float)));
        // Strips right of the diagonal, each by one thread, and then their mirror images.
        constexpr Index kHeight = 32;
        const Pairs<double>& pairs = source.all();
        const Index strips = (size_ + kHeight - 1) / kHeight;
        std::vector<double> largest(static_cast<std::size_t>(strips), 0.0);
        parallel(strips, [&](long t) {
            poll();
            const Index i0 = t * kHeight, i1 = std::min(size_, i0 + kHeight), width = size_ - i0;
            static thread_local Buffer<double> memory; // fresh memory for each strip would cost more than its entries
            double* strip = memory.reserve(std::size_t(kHeight * size_));
            pairs.fill(nullptr, i0, i1 - i0, i0, size_, strip, width);
            for (Index i = i0; i < i1; ++i) {
                const double* from = strip + (i - i0) * width;
                float* to = data + i * stride_;
                double most = 0;
                for (Index j = 0; j < width; ++j) {
                    to[i0 + j] = float(from[j]);
                    most = std::max(most, std::abs(from[j]));
                }
                largest[std::size_t(t)] = std::max(largest[std::size_t(t)], most);
                std::fill(to + size_, to + stride_, 0.0f);
            }
        });
        parallel(strips, [&](long t) {
            constexpr Index kTile = 32;
            const Index i0 = t * kHeight, i1 = std::min(size_, i0 + kHeight);
            for (Index j0 = 0; j0 < i1; j0 += kTile)
                for (Index i = i0; i < i1; ++i)
                    for (Index j = j0; j < std::min(i, j0 + kTile); ++j) data[i * stride_ + j] = data[j * stride_ + i];
        });
        for (Index i = 0; i < size_; ++i) diagonal_.push_back(double(data[i * stride_ + i]));
        errors_ = EntryErrors(kRounding * *std::max_element(largest.begin(), largest.end()));
        std::vector<Index> every(static_cast<std::size_t>(size_));
        std::iota(every.begin(), every.end(), Index(0));
        entries_ = given_gram<float>(static_cast<const float*>(data), std::move(every), stride_, 1);
    }
    Index size() const override { return size_; }
    std::unique_ptr<Pairs<float>> between(const std::vector<Index>& rows,
                                          const std::vector<Index>& columns) const override {
        return entries_->between(rows, columns);
    }
    const Pairs<float>& all() const override { return entries_->all(); }
    const float* row(Index i) const override { return static_cast<const float*>(memory_.data()) + i * stride_; }
    double diagonal(Index i) const override { return diagonal_[std::size_t(i)]; }
    std::size_t bytes() const override { return std::size_t(size_ * stride_) * sizeof(float); }
    std::size_t bytes_each() const override { return 0; }
    double cost() const override { return costs::kStored; }
    const EntryErrors& errors() const override { return errors_; }
    bool rounded() const override { return true; }

  private:
    Index size_, stride_;
    EntryErrors errors_;
    Slab memory_;
    std::vector<double> diagonal_;
    std::unique_ptr<Gram<float>> entries_;
};

} // namespace

Index held_stride(Index size) { return (size + kScanUnit - 1) / kScanUnit * kScanUnit; }

std::unique_ptr<Gram<float>> held_gram(const Gram<double>& source) { return std::make_unique<HeldGram>(source); }

} // namespace mercer
