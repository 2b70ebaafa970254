// The sums of differences.hpp by a tree. All words of z stand in it, one level per letter. A few rows x walk it
// together; at every node they carry the list of their words that differ from the path in few enough letters, so at a
// leaf the weights of all of them are added up and then handed to the sequences z that have the leaf's word. Ghandi,
// Lee, Mohammad-Noori, Beer (2014); Leslie, Eskin, Cohen, Weston, Noble (2004).
#pragma once

#include "kernels/pairs.hpp"
#include "strings/differences.hpp"

#include <memory>
#include <vector>

namespace mercer {

// The bags' memory must outlive the result.
// Memory: 16 bytes per distinct word of a sequence of z, 8 per node of the tree, 64 per column and thread.
template <class T>
std::unique_ptr<Pairs<T>> bind_tree(const Bags& x, const Bags& z, const std::vector<double>& weights);

// About how many nanoseconds one thread needs for this number of rows, with all columns.
double tree_time(const Bags& x, const Bags& z, const std::vector<double>& weights, Index rows);

} // namespace mercer
