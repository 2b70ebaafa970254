// Kernels whose values are found one by one, such as those of trees: blocks of their matrices, computed in parallel.
#pragma once

#include "kernels/object_pairs.hpp"

namespace mercer {

class OneByOne : public ObjectPairs<double> {
  public:
    using ObjectPairs<double>::ObjectPairs;

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, double* out,
              Index stride) const final;
    // Half of the pairs are computed, the other half mirrored.
    void fill_symmetric(double* out, Index stride) const final;

  protected:
    // k(x_i, z_j), to the last bit the same as with x and z exchanged; called by several threads at once.
    virtual double value(Index i, Index j) const = 0;

  private:
    void fill_diagonal(double* out) const final;
};

} // namespace mercer
