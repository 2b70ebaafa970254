// Pairs as Python holds them: what owns their memory, and blocks written into arrays, whose sizes are checked first.
#pragma once

#include "kernels/pairs.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <stdexcept>

namespace mercer::python {

template <class T> using Out = nanobind::ndarray<T, nanobind::ndim<2>, nanobind::device::cpu>;
using Positions = nanobind::ndarray<const Index, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// The block of `pairs`, a matrix of all_rows by all_columns, at these rows and from first_column on.
template <class T> void fill(const Pairs<T>& pairs, Index all_rows, Index all_columns,
                             const std::optional<Positions>& index, Index first_row, Index first_column,
                             const Out<T>& out) {
    const Index rows = Index(out.shape(0)), columns = Index(out.shape(1));
    if (out.stride(1) != 1 && columns > 1) throw std::invalid_argument("out must have contiguous rows");
    if (first_column < 0 || first_column + columns > all_columns) throw std::out_of_range("columns");
    if (index) {
        if (Index(index->shape(0)) != rows) throw std::invalid_argument("one row of out per index");
        for (Index r = 0; r < rows; ++r)
            if (index->data()[r] < 0 || index->data()[r] >= all_rows) throw std::out_of_range("row index");
    } else if (first_row < 0 || first_row + rows > all_rows) {
        throw std::out_of_range("rows");
    }
    const Index* positions = index ? index->data() : nullptr;
    nanobind::gil_scoped_release release;
    pairs.fill(positions, first_row, rows, first_column, first_column + columns, out.data(), out.stride(0));
}

template <class T> void fill_symmetric(const Pairs<T>& pairs, Index n, const Out<T>& out) {
    if (Index(out.shape(0)) != n || Index(out.shape(1)) != n || (out.stride(1) != 1 && n > 1))
        throw std::invalid_argument("out must be n by n with contiguous rows");
    nanobind::gil_scoped_release release;
    pairs.fill_symmetric(out.data(), out.stride(0));
}

template <class W> using Weights =
    nanobind::ndarray<const W, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// A matrix of pairs together with the Python objects that own what it reads.
template <class T> struct BoundPairs {
    std::shared_ptr<const Pairs<T>> pairs;
    Index rows = 0, columns = 0;
    nanobind::object row_owner = nanobind::none(), column_owner = nanobind::none();
};

} // namespace mercer::python
