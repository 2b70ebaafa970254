// How often the words of columns stand in each of up to 512 rows, summed over many sets of places (gaps.hpp), where
// most words stand in many rows: then a mask of rows per word is faster than a list of them.
//
// A row that has a word more than once, say 5 times, is in the masks of the bits of 5: that of the word for 1, the next
// of this mask for 2, the next of that for 4.
#pragma once

#include "strings/tally.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace mercer {

class MaskedCounts {
  public:
    // Counters up to `most`, one for each of the columns, all zero.
    void start(std::size_t columns, double most) {
        depth_ = std::size_t(std::ilogb(std::max(most, 1.0))) + 1 + kSpare;
        planes_.assign(columns * depth_, Mask{});
    }

    // The words of the rows for the next set of places, as keys below `cells`: who has them and how often.
    template <class K> void set_rows(const K* keys, const std::uint16_t* owner, const std::int32_t* count,
                                     std::size_t words, std::size_t cells) {
        empty_ = std::uint32_t(cells);
        masks_.assign(cells + 1, Mask{});
        next_.assign(cells + 1, 0);
        for (std::size_t w = 0; w < words; ++w) {
            auto mask = std::uint32_t(keys[w]);
            for (auto left = std::uint32_t(count[w]);; mask = next(mask)) {
                if (left & 1) put(mask, owner[w]);
                if (!(left >>= 1)) break;
            }
        }
    }

    // Adds how often the rows have the words of a column.
    template <class K>
    void add_column(std::size_t column, const K* keys, const std::int32_t* count, std::size_t words) {
        std::uint64_t bits = 0; // of all counts; levels go beyond them
        for (std::size_t w = 0; w < words; ++w) bits |= std::uint32_t(count[w]);
        Mask* planes = planes_.data() + column * depth_;
        above_.clear(); // the masks of the level above, half the weight
        for (int level = 0; bits >> level || !above_.empty(); ++level) {
            list_.resize(words + above_.size() + std::size_t(kTallyUnit));
            std::size_t n = 0;
            if (bits >> level & 1)
                for (std::size_t w = 0; w < words; ++w) {
                    list_[n] = std::uint32_t(keys[w]); // and kept if the count has the bit
                    n += std::size_t(count[w] >> level & 1);
                }
            for (const std::uint32_t mask : above_) {
                list_[n] = next_[mask];
                n += next_[mask] != 0;
            }
            std::size_t padded = n;
            while (padded % std::size_t(kTallyUnit)) list_[padded++] = empty_;
            tally().add(masks_.data(), list_.data(), std::ptrdiff_t(padded), planes + level);
            list_.resize(n);
            std::swap(list_, above_);
        }
    }

    // sums[row] += share * the counter.
    template <class Sum> void add_sums(std::size_t column, Sum share, Sum* sums) const {
        const Mask* planes = planes_.data() + column * depth_;
        for (std::size_t p = 0; p < depth_; ++p)
            for (std::size_t i = 0; i < std::size(planes[p].part); ++i)
                for (std::uint64_t left = planes[p].part[i]; left; left &= left - 1)
                    sums[64 * i + std::size_t(std::countr_zero(left))] += share * (Sum(1) << p);
    }

  private:
    static constexpr std::size_t kSpare = 4; // planes beyond the largest counter, which are read and stay empty

    std::uint32_t next(std::uint32_t mask) {
        if (!next_[mask]) {
            next_[mask] = std::uint32_t(masks_.size());
            masks_.emplace_back();
            next_.push_back(0);
        }
        return next_[mask];
    }

    void put(std::uint32_t mask, std::uint16_t row) {
        const std::uint64_t bit = std::uint64_t(1) << (row % 64);
        for (; masks_[mask].part[row / 64] & bit; mask = next(mask)) masks_[mask].part[row / 64] ^= bit;
        masks_[mask].part[row / 64] |= bit;
    }

    std::size_t depth_ = 0; // planes of a column
    std::vector<Mask> planes_, masks_;
    std::vector<std::uint32_t> next_; // 0 where there is none
    std::vector<std::uint32_t> list_, above_;
    std::uint32_t empty_ = 0; // the mask of no rows
};

} // namespace mercer
