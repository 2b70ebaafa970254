// k(x, z) = sum over the words u of x and v of z of weight[d(u, v)], d the number of places where u and v differ: the
// mismatch kernel and the gapped k-mer kernel. Many rows are found by words with gaps (gaps.hpp), a few by a tree
// (tree.hpp), whichever is expected to be faster; both give the same numbers.
#pragma once

#include "kernels/object_pairs.hpp"
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

// weights[d] for d = 0 .. most, whole numbers, so that sums are exact in any order; 0 beyond. At most 63 bits per word
// at the fewest bits per letter. The bags' memory must outlive the result.
template <class T>
std::unique_ptr<ObjectPairs<T>> bind_differences(const Bags& x, const Bags& z, const std::vector<double>& weights);

// Whether words of this kind fit.
bool fits_differences(std::int32_t alphabet, Index length);

} // namespace mercer
