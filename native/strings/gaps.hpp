// The sums of differences.hpp by words with gaps: letters at some of the places of a word. Two words that agree at i
// places share C(i, j) sets of j such places, and any weight is a sum of these: weight[length - i] = sum over j of
// share[j] C(i, j). So k(x, z) is a sum over sets of places of inner products of counts, each found by a table of the
// words of some rows, which the words of the columns look themselves up in: lists of the rows that have a word or,
// where these are long, masks of them (masked_counts.hpp). Binomial inversion gives the shares.
#pragma once

#include "kernels/pairs.hpp"
#include "strings/differences.hpp"

#include <memory>
#include <vector>

namespace mercer {

// share[0 .. length]: whole numbers where the weights are.
std::vector<double> shares(const std::vector<double>& weights, Index length);

// The bags' memory must outlive the result. Sums are exact, in integers of 32 or 64 bits; null where they would not be.
// Memory per thread: 1 or 2 MB of sums, and 5 to 9 bytes per letter of each word of 512 rows and 512 columns; with
// masks, 1 or 2 MB more of these, and of counters 32 kB per bit of the largest sum.
template <class T>
std::unique_ptr<Pairs<T>> bind_gaps(const Bags& x, const Bags& z, const std::vector<double>& weights);

// About how many nanoseconds one thread needs for a block of this size.
double gaps_time(const Bags& x, const Bags& z, const std::vector<double>& weights, Index rows, Index columns);

} // namespace mercer
