#include "bind/objects.hpp"

#include "bind/bind.hpp"
#include "bind/pairs.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::BoundObjects;

namespace {

using mercer::python::Out;
using mercer::python::Positions;

void fill(const BoundObjects& self, std::optional<Positions> index, Index first_row, Index first_column,
          Out<double> out) {
    mercer::python::fill<double>(*self.pairs, self.pairs->rows(), self.pairs->columns(), index, first_row, first_column,
                                 out);
}

void fill_symmetric(const BoundObjects& self, Out<double> out) {
    if (self.pairs->rows() != self.pairs->columns()) throw std::invalid_argument("rows and columns are not the same");
    mercer::python::fill_symmetric<double>(*self.pairs, self.pairs->columns(), out);
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
