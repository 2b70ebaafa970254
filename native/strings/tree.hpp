// k(x, z) = sum over the words u of x and v of z of weight[d(u, v)], d the number of places where u and v differ:
// the mismatch kernel and the gapped k-mer kernel. All words of z stand in a tree, one level per letter. A few rows x
// walk it together; at every node they carry the list of their words that differ from the path in few enough letters,
// so at a leaf the weights of all of them are added up and then handed to the sequences z that have the leaf's word.
// Ghandi, Lee, Mohammad-Noori, Beer (2014); Leslie, Eskin, Cohen, Weston, Noble (2004).
#pragma once

#include "kernels/pairs.hpp"
#include "strings/words.hpp"

#include <memory>
#include <vector>

namespace mercer {

// Words of one length and their counts, as count_words gives them: key = letters in base `alphabet`.
struct Bags {
    Index count = 0;
    const Index* indptr = nullptr;
    const Key* keys = nullptr;
    const double* values = nullptr;
    std::int32_t alphabet = 0;
    Index length = 0;
};

// weights[d] for d = 0 .. most, whole numbers, so that sums are exact in any order; 0 beyond. At most 64 bits per word
// at the fewest bits per letter. The bags' memory must outlive the result.
// Memory: 16 bytes per distinct word of a sequence of z, 8 per node of the tree, 64 per column and thread.
template <class T>
std::unique_ptr<Pairs<T>> bind_tree(const Bags& x, const Bags& z, const std::vector<double>& weights);

// out[i] = k(x_i, z_i), word by word.
void tree_diagonal(const Bags& x, const Bags& z, const std::vector<double>& weights, double* out);

// Whether words of this kind fit.
bool fits_tree(std::int32_t alphabet, Index length);

} // namespace mercer
