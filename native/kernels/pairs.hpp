// A formula bound to two sets of samples: blocks of the matrix k(x_i, z_j), computed in parallel.
#pragma once

#include "kernels/formula.hpp"
#include "samples/source.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace mercer {

template <class T> class Pairs {
  public:
    virtual ~Pairs() = default;
    // out[r * stride + (j - first_column)] = k(x_i, z_j), i = index[r] (or first_row + r if index is null),
    // for the `rows` rows and the columns first_column .. last_column - 1.
    virtual void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
                      Index stride) const = 0;
    // The whole matrix of a set of samples with itself; exactly symmetric.
    virtual void fill_symmetric(T* out, Index stride) const = 0;

    // visit(r, count, j0, j1, block, stride): the entries of rows index[r] .. index[r + count - 1] and columns
    // j0 .. j1 - 1, in memory that is reused for the next block. Runs on the calling thread alone, in a fixed order.
    using Visit = std::function<void(Index r, Index count, Index j0, Index j1, const T* block, Index stride)>;
    // Rows that several ranges of columns are streamed for can be made ready once; what is made is used again.
    struct Ready {
        virtual ~Ready() = default;
    };
    virtual void prepare(const Index* index, Index rows, std::unique_ptr<Ready>& ready) const;
    virtual void stream(const Index* index, Index rows, Index first_column, Index last_column, const Visit& visit,
                        const Ready* ready = nullptr) const;
    // Writes one block, on the calling thread where others would have to be woken: out[r * stride + (j -
    // first_column)]. `ready`, if not null, is what prepare() has made of these very rows.
    virtual void write(const Index* index, Index rows, Index first_column, Index last_column, T* out, Index stride,
                       const Ready* ready) const;
    // The same columns against other rows, whose memory must outlive the result; null where there is nothing to gain
    // over a new bind().
    virtual std::unique_ptr<Pairs<T>> with_rows(const Source<T>&) const { return nullptr; }
    // The most rows that stream() hands out together for a range of at most `columns` columns; at least four, as four
    // are added at once (kAccumulated).
    virtual Index height(Index columns) const;
    // Whether a few columns cost no more each than many.
    virtual bool narrow() const { return true; }
    // Columns come in multiples of this at the best speed.
    virtual Index grain() const { return 256; }
};

// How two sets of samples are computed with. Entries have the same bits in all blocks of the same layout.
struct Layout {
    bool lists = false;              // an inverted index (sparse.cpp) instead of packed panels (dense.cpp)
    std::vector<std::int32_t> place; // with lists: of a coordinate among those that go through panels still, or -1
    Index panelled = 0;              // how many these are
    bool keep = true;                // whether packed columns, or their lists, are kept
};
// The one that is expected to need the least time in the precision T: lists for sparse data, unless most coordinates
// are in most samples.
template <class T, class S>
Layout best_layout(const Source<S>& x, const Source<S>& z, const Formula& formula, const Frame& frame);
// Lists, whatever they cost. The panels beside them take at most two and a half times the memory of the rows given.
template <class S> Layout listed_layout(const Source<S>& x, const Source<S>& z, const Formula& formula);
// The bytes that lists take for these samples, with `panelled` coordinates in panels: if they are kept, or if they are
// made when wanted.
template <class T, class S> std::size_t listed_bytes(const Source<S>& z, Index panelled, bool keep);

// The sources' memory must outlive the result. `x` and `z` may be the same rows. The frame is copied.
template <class T> std::unique_ptr<Pairs<T>> bind(const Source<T>& x, const Source<T>& z, Formula formula,
                                                  const Frame& frame, const Layout& layout);
template <class T>
std::unique_ptr<Pairs<T>> bind(const Source<T>& x, const Source<T>& z, Formula formula, const Frame& frame);

// keep: whether the columns stay packed, which takes as much memory as they do, or are packed when they are wanted.
template <class T> std::unique_ptr<Pairs<T>> bind_dense(const Source<T>& x, const Source<T>& z, Formula formula,
                                                        const Frame& frame, bool keep = true);

// The grid of both sources, for the frame of pairs in the precision T, if they have one and the formula can use it.
template <class T, class S>
Grid useful_grid(const Source<S>& x, const Source<S>& z, const Formula& formula, const Frame& frame);

// out[(i * segments + s) * outputs + o] = sum over the columns j of segment s of k(x_i, z_j) weights[j * outputs + o];
// segment s begins at starts[s] and ends where the next begins, the last at `columns`. Short sums run in the precision
// W (T or double), sums of those in double precision.
template <class T, class W> void product(const Pairs<T>& pairs, Index rows, Index columns, const W* weights,
                                         Index outputs, const std::vector<Index>& starts, double* out);
// out[i * outputs + o] = sum_j k(x_i, x_j) weights[j * outputs + o] of n samples with themselves: every entry is
// computed once and used twice.
template <class T, class W>
void symmetric_product(const Pairs<T>& pairs, Index n, const W* weights, Index outputs, double* out);

} // namespace mercer
