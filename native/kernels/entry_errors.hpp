// Bounds on the errors of a kernel matrix's entries, by the size of the samples they belong to: the entries of one
// large sample may be wrong by far more than all others, which need not be doubted for its sake.
#pragma once

#include "samples/source.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace mercer {

// Every sample has a level; an entry is off by at most what stands in the table for the levels of its two samples.
class EntryErrors {
  public:
    // The same for all entries.
    EntryErrors(double everywhere = 0) : table_{everywhere} {}
    // Levels are counted from 0; row by row, the table has a number for any two of them.
    EntryErrors(std::vector<std::uint8_t> level, std::vector<double> table, int levels)
        : level_(std::move(level)), table_(std::move(table)), levels_(levels) {}

    int levels() const { return levels_; }
    int level(Index sample) const { return level_.empty() ? 0 : level_[std::size_t(sample)]; }
    double between(int a, int b) const { return table_[std::size_t(a * levels_ + b)]; }
    double largest() const { return *std::max_element(table_.begin(), table_.end()); }

    // This part of each, and more of all.
    EntryErrors scaled(double part, double more) const {
        EntryErrors result = *this;
        for (double& error : result.table_) error = part * error + more;
        return result;
    }

  private:
    std::vector<std::uint8_t> level_;
    std::vector<double> table_;
    int levels_ = 1;
};

} // namespace mercer
