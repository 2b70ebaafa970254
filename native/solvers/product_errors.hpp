// What errors of the entries of a matrix do to its product with the coefficients, and to the objectives.
#pragma once

#include "kernels/entry_errors.hpp"
#include "solvers/problem.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mercer {

class ProductErrors {
  public:
    ProductErrors(const EntryErrors& entries, const Problem& problem, const double* a)
        : entries_(entries), problem_(problem), squares_(std::size_t(entries.levels())), of_(squares_.size()) {
        std::vector<double> mass(squares_.size());
        for (Index p = 0; p < problem.count; ++p) {
            const auto level = std::size_t(entries.level(problem.sample_of(p)));
            mass[level] += std::abs(a[p]), squares_[level] += a[p] * a[p];
        }
        for (int b = 0; b < entries.levels(); ++b)
            if (mass[std::size_t(b)] > 0) // an unknown, infinite error of nothing is none
                for (int c = 0; c < entries.levels(); ++c)
                    of_[std::size_t(c)] += entries.between(c, b) * mass[std::size_t(b)];
    }

    // (K a) of the sample of p is off by no more.
    double of(Index p) const { return of_[std::size_t(entries_.level(problem_.sample_of(p)))]; }
    double largest() const { return *std::max_element(of_.begin(), of_.end()); }
    // The root of the sum of the squares of all that a'Ka may be off by, entry by entry: its size, where these are
    // independent of each other.
    double independent() const {
        double sum = 0;
        for (int b = 0; b < entries_.levels(); ++b)
            for (int c = 0; c < entries_.levels(); ++c)
                if (const double both = squares_[std::size_t(b)] * squares_[std::size_t(c)]; both > 0)
                    sum += entries_.between(b, c) * entries_.between(b, c) * both;
        return std::sqrt(sum);
    }

  private:
    const EntryErrors& entries_;
    const Problem& problem_;
    std::vector<double> squares_, of_; // of each level
};

} // namespace mercer
