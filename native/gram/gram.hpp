// The matrix of one set of samples, as the solvers see it: something that yields the pairs between selections.
#pragma once

#include "kernels/composition.hpp"
#include "kernels/entry_errors.hpp"
#include "kernels/pairs.hpp"

#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

namespace mercer {

template <class T> class Gram {
  public:
    virtual ~Gram() = default;
    virtual Index size() const = 0;
    // k(x_i, x_j) for i in rows and j in columns.
    virtual std::unique_ptr<Pairs<T>> between(const std::vector<Index>& rows,
                                              const std::vector<Index>& columns) const = 0;
    // All pairs; made once and kept.
    virtual const Pairs<T>& all() const = 0;
    // Row i where it stands in memory, followed by zeros up to held_stride(size()); null if rows are computed. The next
    // row stands held_stride(size()) entries further.
    virtual const T* row(Index) const { return nullptr; }
    // k(x_i, x_i)
    virtual double diagonal(Index i) const = 0;
    // Memory that all() takes, and that a sample takes once it is packed.
    virtual std::size_t bytes() const = 0;
    virtual std::size_t bytes_each() const = 0;
    // Nanoseconds one thread needs per entry, roughly.
    virtual double cost() const = 0;
    // What k(x_i, x_j) may be off by because it is computed in this precision; infinity if unknown.
    virtual const EntryErrors& errors() const = 0;
    // Whether entries are exact ones that were rounded once: then their errors are about as large as these bounds.
    virtual bool rounded() const { return false; }
};

// A formula of the native engine on rows of vectors, which may be of another precision than the matrix. The memory of
// the source must outlive the result. A grid in the frame must hold in the precision of the matrix. Packed samples are
// kept if they take at most `budget` bytes; else they are packed whenever they are wanted. `errors` bound what the
// arithmetic of this precision does to an entry, `lost` what the rounding of the samples does.
template <class T, class S>
std::unique_ptr<Gram<T>> formula_gram(const Source<S>& source, Formula formula, const Frame& frame, EntryErrors errors,
                                      std::size_t budget = std::numeric_limits<std::size_t>::max(), double lost = 0);

// The entries of a row of a matrix that is held, with the zeros that the passes of the solver read beyond it.
Index held_stride(Index size);

// The same matrix in single precision, computed whole now and rounded; it does not need the other any more.
std::unique_ptr<Gram<float>> held_gram(const Gram<double>& source);

// A matrix that exists: entry (i, j) at data[order[i] * row_stride + order[j] * column_stride]. In single precision its
// entries are rounded if they are double; `largest` of them says by how much.
template <class T, class S> std::unique_ptr<Gram<T>>
given_gram(const S* data, std::vector<Index> order, Index row_stride, Index column_stride, double largest = 0);
// Such a matrix as pairs of rows with those of its columns that are named.
template <class T, class S> std::unique_ptr<Pairs<T>> given_pairs(const S* data, Index row_stride, Index column_stride,
                                                                  std::vector<Index> rows, std::vector<Index> columns);

// The matrix of samples of which all pairs can be computed, row by row, but no part of them bound anew, such as pairs
// of objects; sample i is number order[i] of those. `cost` in nanoseconds of an entry.
template <class T>
std::unique_ptr<Gram<T>> pairs_gram(std::shared_ptr<const Pairs<T>> pairs, std::vector<Index> order, double cost);

// What a program makes of matrices of the same samples, which must outlive the result. The program's borders are those
// of all samples, in their order.
template <class T> std::unique_ptr<Gram<T>> composed_gram(std::vector<const Gram<T>*> parts, Program program,
                                                          Index size, EntryErrors errors);

// The diagonal, from blocks around it.
template <class T> std::vector<T> diagonal_of(const Pairs<T>& pairs, Index size);

} // namespace mercer
