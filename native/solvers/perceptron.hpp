// Rosenblatt's perceptron, for vectors and for kernel values. Example by example, for labels y = -1 or 1,
//
//     if y f(x) <= 0:   f += s y k(x, .),   b += s y R^2      (s the weight of the example, R^2 the largest k(x, x))
//
// Several outputs, one class against the rest each, learn from the same examples and share their kernel values.
// Rosenblatt, "The perceptron", Psychological Review 65, 1958; Novikoff, "On convergence proofs for perceptrons", 1963.
#pragma once

#include "samples/source.hpp"

namespace mercer::perceptron {

// What is to be learned: a label and a weight per row. Of one output, label 1 is positive; of several, each its own.
struct Examples {
    const Index* label;
    const double* weight;
    Index outputs;
    double radius; // R^2

    double sign(Index row, Index output) const { return label[row] == output + (outputs == 1) ? 1.0 : -1.0; }
};

// One pass over rows of vectors in the given order. `weights` holds w and then b of each output; `mistakes` are added
// up per output. The outputs are learned in parallel.
template <class T> void pass(const Source<T>& rows, const Index* order, Index count, const Examples& examples,
                             double* weights, Index* mistakes);

// What a kernel perceptron knows: rows of coefficients of its columns and one of biases. `late` sums coefficients times
// the number of examples seen before they were added: after T examples the average over all times is a - late / T.
struct KernelState {
    double *coefficients, *late; // (columns, outputs)
    double *bias, *late_bias;    // (outputs)
    Index clock;                 // examples seen before this block
};

// A block of examples against the support, in order of age, and the examples themselves: `kernel` is (rows, columns),
// columns = support + rows. The coefficients of row i are those of column own[i] if that has some, else of its own.
template <class T> struct KernelBlock {
    Index rows, support;
    const T* kernel;
    const Index* own;
    const double* diagonal; // k(x, x) of every column

    Index columns() const { return support + rows; }
};

// One pass over a block. If `budget` is not 0 and a mistake makes it more than `budget` columns with coefficients, the
// one that f changes least without, of least sum_c a_c^2 k(x, x), is given up; of equals the oldest (Wang, Crammer and
// Vucetic, "Breaking the curse of kernelization", JMLR 13, 2012).
template <class T>
void pass(const KernelBlock<T>& block, const Examples& examples, Index budget, KernelState& state, Index* mistakes);

} // namespace mercer::perceptron
