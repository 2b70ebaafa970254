// The memory of a decomposition: what it takes for a problem, and how large its working sets may be for it. Rows that
// are kept (problem_matrix.hpp) get what is left.
#pragma once

#include "gram/gram.hpp"
#include "solvers/problem.hpp"

#include <cstddef>

namespace mercer {

// The most coefficients of a working set.
inline constexpr Index kLarge = 2048;

template <class T> class MemoryPlan {
  public:
    MemoryPlan(const Gram<T>& gram, const Problem& problem);

    // Bytes for the vectors of the problem.
    std::size_t of_vectors() const;
    // Bytes for the samples of `part` coefficients, which are copied and packed.
    std::size_t of_part(Index part) const { return 2 * std::size_t(part) * each_; }
    // Bytes for all but the working set, the packed samples and the rows that are kept ...
    std::size_t beside() const;
    // ... and with working sets of `working` coefficients, or with the largest.
    std::size_t taken(Index working) const;
    std::size_t taken() const;
    // Of the budget, what is left for rows after the packed samples and all that is taken.
    std::size_t left(Index working, std::size_t budget) const;
    // The largest working set for which these bytes suffice, or the least that there is.
    Index largest(std::size_t bytes) const;

  private:
    double square_; // bytes for each pair of a working set
    double copies_; // bytes for the samples of each of it
    std::size_t packed_, each_;
    Index count_;
};

} // namespace mercer
