#include "bind/bind.hpp"
#include "bind/vectors.hpp"
#include "neighbors/nearest.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <optional>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;

namespace {

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<Index, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The nearest columns of a block that Python has computed.
void nearest(nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu> block, double scale, Values offset,
             Positions index, Out value) {
    const Index rows = Index(block.shape(0)), columns = Index(block.shape(1)), k = Index(index.shape(1));
    if (Index(offset.shape(0)) != columns || Index(index.shape(0)) != rows || Index(value.shape(0)) != rows ||
        Index(value.shape(1)) != k || k > columns)
        throw std::invalid_argument("offset needs an entry per column, index and value k <= columns per row");
    nb::gil_scoped_release release;
    mercer::nearest(block.data(), columns, rows, columns, scale, offset.data(), k, index.data(), value.data());
}

template <class T> void bind_distances(nb::module_& m) {
    m.def(
        "squared_distances",
        [](const mercer::python::Vectors<T>& x, const mercer::python::Vectors<T>& z, std::optional<Values> scale,
           Positions index, Out out) {
            const Index k = Index(index.shape(1));
            if (x.source.columns != z.source.columns || Index(index.shape(0)) != x.source.rows ||
                Index(out.shape(0)) != x.source.rows || Index(out.shape(1)) != k ||
                (scale && Index(scale->shape(0)) != x.source.columns))
                throw std::invalid_argument("rows of equal length, and as many indices and results per row");
            for (Index i = 0; i < x.source.rows * k; ++i)
                if (index.data()[i] < 0 || index.data()[i] >= z.source.rows) throw std::out_of_range("index");
            nb::gil_scoped_release release;
            mercer::squared_distances(x.source, z.source, scale ? scale->data() : nullptr, k, index.data(), out.data());
        },
        "x"_a, "z"_a, "scale"_a.none(), "index"_a.noconvert(), "out"_a.noconvert());
}

} // namespace

void bind_neighbors(nb::module_& m) {
    m.def("nearest", &nearest, "block"_a.noconvert(), "scale"_a, "offset"_a.noconvert(), "index"_a.noconvert(),
          "value"_a.noconvert());
    bind_distances<float>(m);
    bind_distances<double>(m);
}
