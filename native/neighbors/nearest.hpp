// The columns of smallest value in every row of a matrix, found while its blocks pass by: a running heap per row.
//
// The value of an entry is scale * k(x_i, z_j) + offset[j]. With scale -2 and offset k(z_j, z_j) it is the squared
// distance |phi(x_i) - phi(z_j)|^2 up to a number of the row. Of equal values the smaller column comes first. A row is
// looked at by one thread, its columns in order, so the result does not depend on the number of threads.
#pragma once

#include "kernels/pairs.hpp"

namespace mercer {

// index[i * k + r] and value[i * k + r]: the r-th smallest of row i, r = 0 .. k - 1; k is at most `columns`.
template <class T> void nearest(const Pairs<T>& pairs, Index rows, Index columns, T scale, const T* offset, Index k,
                                Index* index, T* value);

// The same for a block in memory; entry (i, j) at block[i * stride + j].
template <class T> void nearest(const T* block, Index stride, Index rows, Index columns, T scale, const T* offset,
                                Index k, Index* index, T* value);

// out[i * k + r] = sum over coordinates c of (scale_c (x_ic - z_jc))^2 with j = index[i * k + r], in double precision;
// scale may be null.
template <class T> void squared_distances(const Source<T>& x, const Source<T>& z, const double* scale, Index k,
                                          const Index* index, double* out);

} // namespace mercer
