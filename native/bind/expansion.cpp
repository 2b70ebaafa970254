#include "bind/bind.hpp"
#include "bind/vectors.hpp"
#include "expansion/additive.hpp"

#include <nanobind/ndarray.h>

#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::AdditiveFunction;
using mercer::Index;

namespace {

template <int D> using Values = nb::ndarray<const double, nb::ndim<D>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class T>
AdditiveFunction intersection(const mercer::python::Vectors<T>& z, Values<2> weights, Positions starts) {
    const std::vector<Index> first(starts.data(), starts.data() + starts.shape(0));
    if (Index(weights.shape(0)) != z.source.rows || first.empty())
        throw std::invalid_argument("expected a row of weights per sample and at least one segment");
    nb::gil_scoped_release release;
    return AdditiveFunction::intersection(z.source, weights.data(), Index(weights.shape(1)), first);
}

AdditiveFunction through(Values<1> knots, Values<3> values) {
    const std::vector<double> own(knots.data(), knots.data() + knots.shape(0));
    if (values.shape(1) != own.size() || own.empty() || !(own.front() > 0))
        throw std::invalid_argument("expected positive knots, and values of shape (coordinates, knots, outputs)");
    nb::gil_scoped_release release;
    return AdditiveFunction::through(own, values.data(), Index(values.shape(0)), Index(values.shape(2)));
}

template <class T> void evaluate(const AdditiveFunction& self, const mercer::python::Vectors<T>& x, Out out) {
    if (x.source.columns != self.coordinates() || Index(out.shape(0)) != x.source.rows ||
        Index(out.shape(1)) != self.segments() || Index(out.shape(2)) != self.outputs())
        throw std::invalid_argument("out needs one entry per row, segment and output, and x one column per curve");
    nb::gil_scoped_release release;
    self.evaluate(x.source, out.data());
}

} // namespace

void bind_expansion(nb::module_& m) {
    nb::class_<AdditiveFunction>(m, "AdditiveFunction")
        .def_static("intersection", &intersection<float>, "z"_a, "weights"_a.noconvert(), "starts"_a)
        .def_static("intersection", &intersection<double>, "z"_a, "weights"_a.noconvert(), "starts"_a)
        .def_static("through", &through, "knots"_a.noconvert(), "values"_a.noconvert())
        .def("evaluate", &evaluate<float>, "x"_a, "out"_a.noconvert())
        .def("evaluate", &evaluate<double>, "x"_a, "out"_a.noconvert())
        .def_prop_ro("bytes", &AdditiveFunction::bytes);
}
