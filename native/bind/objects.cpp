#include "bind/objects.hpp"

#include "bind/bind.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::BoundObjects;

namespace {

using Out = nb::ndarray<double, nb::ndim<2>, nb::device::cpu>;
using Positions = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void fill(const BoundObjects& self, std::optional<Positions> index, Index first_row, Index first_column, Out out) {
    const Index rows = Index(out.shape(0)), columns = Index(out.shape(1));
    if (out.stride(1) != 1 && columns > 1) throw std::invalid_argument("out must have contiguous rows");
    if (first_column < 0 || first_column + columns > self.pairs->columns()) throw std::out_of_range("columns");
    if (index) {
        if (Index(index->shape(0)) != rows) throw std::invalid_argument("one row of out per index");
        for (Index r = 0; r < rows; ++r)
            if (index->data()[r] < 0 || index->data()[r] >= self.pairs->rows()) throw std::out_of_range("row index");
    } else if (first_row < 0 || first_row + rows > self.pairs->rows()) {
        throw std::out_of_range("rows");
    }
    const Index* positions = index ? index->data() : nullptr;
    nb::gil_scoped_release release;
    self.pairs->fill(positions, first_row, rows, first_column, first_column + columns, out.data(), out.stride(0));
}

void fill_symmetric(const BoundObjects& self, Out out) {
    const Index n = self.pairs->columns();
    if (Index(out.shape(0)) != n || Index(out.shape(1)) != n || self.pairs->rows() != n ||
        (out.stride(1) != 1 && n > 1))
        throw std::invalid_argument("out must be n by n with contiguous rows");
    nb::gil_scoped_release release;
    self.pairs->fill_symmetric(out.data(), out.stride(0));
}

void diagonal(const BoundObjects& self, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> out) {
    if (Index(out.shape(0)) != self.pairs->rows() || self.pairs->rows() != self.pairs->columns())
        throw std::invalid_argument("out must have one entry per object");
    nb::gil_scoped_release release;
    self.pairs->diagonal(out.data());
}

} // namespace

void bind_objects(nb::module_& m) {
    nb::class_<BoundObjects>(m, "ObjectPairs")
        .def("fill", &fill, "index"_a.none(), "first_row"_a, "first_column"_a, "out"_a.noconvert())
        .def("fill_symmetric", &fill_symmetric, "out"_a.noconvert())
        .def("diagonal", &diagonal, "out"_a.noconvert());
}
