// Kernels of trees: the fragments that two trees have in common, weighted by their size.
#pragma once

#include "kernels/object_pairs.hpp"
#include "samples/words.hpp"
#include "trees/trees.hpp"

#include <memory>
#include <vector>

namespace mercer {

// Numbers of complete subtrees, those of a node with all its descendants; -1 for leaves, which are no fragments.
// learn() numbers new ones; look_up() gives -1 to them and to all they are part of.
class Subtrees {
  public:
    std::vector<std::int32_t> learn(const Trees& trees);
    std::vector<std::int32_t> look_up(const Trees& trees) const;
    std::int32_t size() const { return words_.size(); }
    // What they are made of: the label of the root, and for every child its number or, of a leaf, -1 - its label.
    const Words& words() const { return words_; }

  private:
    template <class F> std::vector<std::int32_t> number(const Trees& trees, F number_of) const;
    Words words_;
};

// Labels of x and z are numbered alike, and the memory of the trees must outlive the results.
// Memory: 12 bytes per node, and per thread 8 per pair of nodes of two trees that have the same production, or label.
// More than kMostPairs raise a std::bad_alloc that says so, and values that are not finite a std::overflow_error.
constexpr std::size_t kMostPairs = std::size_t(1) << 28; // 2 GiB

// Collins and Duffy (2002): fragments keep all children of a node or none.
//   delta(n, m) = decay * product over children c of (1 + delta(c_n, c_m)) where the productions are equal, else 0
std::unique_ptr<ObjectPairs<double>> subset_tree(const Trees& x, const Trees& z, double decay);

// Moschitti (2006): fragments keep any children of a node, in order. With the spans d of two sequences of children,
//   delta(n, m) = mu (decay^2 + sum over equally long sequences of decay^(d + d') product of delta(c_n, c_m))
// where the labels are equal, else 0.
std::unique_ptr<ObjectPairs<double>> partial_tree(const Trees& x, const Trees& z, double decay, double mu);

} // namespace mercer
