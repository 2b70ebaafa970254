// Kernels that compare two objects at a time, such as trees: blocks of their matrices, computed in parallel.
#pragma once

#include "kernels/pairs.hpp"

namespace mercer {

class OneByOne : public Pairs<double> {
  public:
    OneByOne(Index rows, Index columns) : rows_(rows), columns_(columns) {}

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, double* out,
              Index stride) const final;
    // Half of the pairs are computed, the other half mirrored.
    void fill_symmetric(double* out, Index stride) const final;
    // k(x_i, z_i) for every i; where rows and columns are the same objects.
    void diagonal(double* out) const;

    Index rows() const { return rows_; }
    Index columns() const { return columns_; }

  protected:
    // k(x_i, z_j), to the last bit the same as with x and z exchanged; called by several threads at once.
    virtual double value(Index i, Index j) const = 0;

  private:
    Index rows_, columns_;
};

} // namespace mercer
