#include "solvers/perceptron.hpp"
#include "bind/bind.hpp"
#include "bind/vectors.hpp"

#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::Vectors;

namespace {

template <class T> using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Counts = nb::ndarray<Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void expect(bool right) {
    if (!right) throw std::invalid_argument("the arrays of a perceptron do not fit together");
}

template <class T> void bind_passes(nb::module_& m) {
    m.def(
        "perceptron_pass",
        [](const Vectors<T>& rows, Values<Index> order, Values<Index> label, Values<double> weight, double radius,
           Table weights, Counts mistakes) {
            const mercer::Source<T>& source = rows.source;
            const std::size_t n = std::size_t(source.rows);
            expect(source.sparse() || source.contiguous());
            expect(label.shape(0) == n && weight.shape(0) == n && mistakes.shape(0) == weights.shape(0));
            expect(Index(weights.shape(1)) == source.columns + 1);
            for (std::size_t t = 0; t < order.shape(0); ++t)
                expect(order.data()[t] >= 0 && order.data()[t] < source.rows);
            nb::gil_scoped_release release;
            mercer::perceptron::pass(source, order.data(), Index(order.shape(0)),
                                     {label.data(), weight.data(), Index(weights.shape(0)), radius}, weights.data(),
                                     mistakes.data());
        },
        "rows"_a, "order"_a, "label"_a, "weight"_a, "radius"_a, "weights"_a.noconvert(), "mistakes"_a.noconvert());
    m.def(
        "kernel_perceptron_pass",
        [](Matrix<T> kernel, Values<Index> own, Values<double> diagonal, Values<Index> label, Values<double> weight,
           double radius, Index budget, Index clock, Table coefficients, Table late, Numbers bias, Numbers late_bias,
           Counts mistakes) {
            const std::size_t rows = kernel.shape(0), columns = kernel.shape(1), outputs = bias.shape(0);
            expect(columns >= rows && own.shape(0) == rows && label.shape(0) == rows && weight.shape(0) == rows);
            expect(diagonal.shape(0) == columns && coefficients.shape(0) == columns && late.shape(0) == columns);
            expect(coefficients.shape(1) == outputs && late.shape(1) == outputs);
            expect(late_bias.shape(0) == outputs && mistakes.shape(0) == outputs);
            for (std::size_t i = 0; i < rows; ++i) expect(own.data()[i] >= 0 && own.data()[i] < Index(columns));
            nb::gil_scoped_release release;
            const mercer::perceptron::KernelBlock<T> block{Index(rows), Index(columns - rows), kernel.data(),
                                                           own.data(), diagonal.data()};
            mercer::perceptron::KernelState state{coefficients.data(), late.data(), bias.data(), late_bias.data(),
                                                  clock};
            mercer::perceptron::pass(block, {label.data(), weight.data(), Index(outputs), radius}, budget, state,
                                     mistakes.data());
        },
        "kernel"_a.noconvert(), "own"_a, "diagonal"_a, "label"_a, "weight"_a, "radius"_a, "budget"_a, "clock"_a,
        "coefficients"_a.noconvert(), "late"_a.noconvert(), "bias"_a.noconvert(), "late_bias"_a.noconvert(),
        "mistakes"_a.noconvert());
}

} // namespace

void bind_perceptron(nb::module_& m) {
    bind_passes<float>(m);
    bind_passes<double>(m);
}
