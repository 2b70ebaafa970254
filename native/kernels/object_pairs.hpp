// Matrices of kernels that compare two objects, such as strings, trees or graphs.
#pragma once

#include "kernels/pairs.hpp"

#include <stdexcept>

namespace mercer {

template <class T> class ObjectPairs : public Pairs<T> {
  public:
    ObjectPairs(Index rows, Index columns) : rows_(rows), columns_(columns) {}

    Index rows() const { return rows_; }
    Index columns() const { return columns_; }

    // out[i] = k(x_i, z_i), in double precision whatever blocks are in.
    void diagonal(double* out) const {
        if (rows_ != columns_) throw std::invalid_argument("a diagonal needs as many rows as columns");
        fill_diagonal(out);
    }

  private:
    virtual void fill_diagonal(double* out) const = 0;

    Index rows_, columns_;
};

} // namespace mercer
