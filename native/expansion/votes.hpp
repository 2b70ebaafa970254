// Which class wins the most contests of two, given the sums of the classes: for many rows, each of hundreds of
// contests.
#pragma once

#include "samples/source.hpp"

namespace mercer {

// Sums of one row: those of class c at c * stride, one for every other class, in their order (LIBSVM's layout). The
// value of classes i < j is sums of i for j + sums of j for i + bias; class i wins where it is positive. The first of
// the classes with the most wins. `bias` is by pair, (0, 1), (0, 2) .. (1, 2) ..
Index most_votes(const double* sums, Index stride, Index classes, const double* bias);

} // namespace mercer
