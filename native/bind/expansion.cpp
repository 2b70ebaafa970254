#include "bind/bind.hpp"
#include "bind/vectors.hpp"
#include "expansion/additive.hpp"
#include "expansion/votes.hpp"

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

// Sums by row, class, machine and other class; biases by machine and pair; the winners by machine and row.
void most_votes(nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu> sums, Values<2> biases,
                nb::ndarray<Index, nb::ndim<2>, nb::device::cpu> out) {
    const Index rows = Index(sums.shape(0)), classes = Index(sums.shape(1)), machines = Index(sums.shape(2));
    if (Index(sums.shape(3)) != classes - 1 || Index(biases.shape(0)) != machines ||
        Index(biases.shape(1)) != classes * (classes - 1) / 2 || Index(out.shape(0)) != machines ||
        Index(out.shape(1)) != rows)
        throw std::invalid_argument("expected sums of each class for each other one, and a bias for each pair");
    nb::gil_scoped_release release;
    const Index stride = machines * (classes - 1);
    for (Index r = 0; r < rows; ++r)
        for (Index m = 0; m < machines; ++m)
            out.data()[m * out.stride(0) + r * out.stride(1)] =
                mercer::most_votes(sums.data() + r * classes * stride + m * (classes - 1), stride, classes,
                                   biases.data() + m * Index(biases.shape(1)));
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
    m.def("most_votes", &most_votes, "sums"_a.noconvert(), "biases"_a.noconvert(), "out"_a.noconvert());
}
