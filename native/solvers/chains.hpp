// Problems that differ in the price of errors alone, solved one after the other: each begins where the last one ended.
// A search over prices, folds and pairs of classes has thousands of small ones on one matrix.
#pragma once

#include "solvers/solve.hpp"

#include <functional>
#include <vector>

namespace mercer {

struct Chain {
    Problem problem; // with the bounds that belong to a price of 1
    double total[2] = {};
};

// Told what came of a chain at one of its prices; by any thread, but of a chain by one.
using Answered = std::function<void(std::size_t chain, std::size_t price, const ProblemRun& run)>;

// Once `stop` says true nothing more is begun, and what is at work ends where it is; it is asked now and then, one at a
// time.
void solve_chains(const Matrices& matrices, const std::vector<Chain>& chains, const std::vector<double>& prices,
                  const Settings& settings, const Answered& answered, const std::function<bool()>& stop = nullptr);

} // namespace mercer
