#include "bind/bind.hpp"
#include "bind/functions.hpp"
#include "bind/pairs.hpp"
#include "bind/steps.hpp"
#include "bind/vectors.hpp"
#include "kernels/isa.hpp"
#include "kernels/pairs.hpp"
#include "neighbors/nearest.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;

namespace {

template <class T> using Dense = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
template <class T> using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using mercer::python::Out;
using mercer::python::Positions;
using mercer::python::Vectors;

template <class T> Vectors<T> dense_rows(Dense<T> a) {
    Vectors<T> r;
    r.source.rows = Index(a.shape(0));
    r.source.columns = Index(a.shape(1));
    r.source.data = a.data();
    r.source.row_stride = a.stride(0);
    r.source.column_stride = a.shape(1) == 1 ? 1 : a.stride(1);
    r.owner = nb::cast(a);
    return r;
}
template <class T> Vectors<T> sparse_rows(Values<T> values, Indices indices, Positions indptr, Index columns) {
    Vectors<T> r;
    r.source.rows = Index(indptr.shape(0)) - 1;
    r.source.columns = columns;
    r.source.values = values.data();
    r.source.indices = indices.data();
    r.source.indptr = indptr.data();
    r.owner = nb::make_tuple(values, indices, indptr);
    return r;
}

using mercer::python::BoundPairs;
using mercer::python::Weights;

// A formula's pairs; the columns, packed once, may be bound to other rows.
template <class T> struct FormulaPairs : BoundPairs<T> {
    FormulaPairs(Vectors<T> x, Vectors<T> z, const mercer::Formula& formula, std::optional<Values<double>> shift,
                 std::optional<Values<double>> scale, std::optional<std::pair<double, double>> grid)
        : BoundPairs<T>{nullptr, x.source.rows, z.source.rows, x.owner, z.owner}, width(x.source.columns) {
        const auto d = std::size_t(width);
        if (z.source.columns != width) throw std::invalid_argument("rows of different lengths");
        if ((shift && shift->shape(0) != d) || (scale && scale->shape(0) != d))
            throw std::invalid_argument("shift and scale need one entry per column");
        mercer::Frame frame{shift ? shift->data() : nullptr, scale ? scale->data() : nullptr};
        nb::gil_scoped_release release;
        if (grid)
            frame.grid = {grid->first, grid->second};
        else
            frame.grid = mercer::useful_grid<T>(x.source, z.source, formula, frame);
        this->pairs = mercer::bind(x.source, z.source, formula, frame);
    }
    FormulaPairs(Vectors<T> x, const FormulaPairs& other)
        : BoundPairs<T>{nullptr, x.source.rows, other.columns, x.owner, other.column_owner}, width(other.width) {
        if (x.source.columns != width) throw std::invalid_argument("rows of different lengths");
        nb::gil_scoped_release release;
        this->pairs = other.pairs->with_rows(x.source);
    }
    Index width;
};

template <class T, class W> void product(const BoundPairs<T>& self, Weights<W> weights, Positions starts,
                                         nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu> out) {
    const Index outputs = Index(weights.shape(1));
    if (Index(weights.shape(0)) != self.columns || Index(out.shape(0)) != self.rows ||
        out.shape(1) != starts.shape(0) || Index(out.shape(2)) != outputs)
        throw std::invalid_argument("weights need a row per column, out one entry per row, segment and output");
    const std::vector<Index> first(starts.data(), starts.data() + starts.shape(0));
    nb::gil_scoped_release release;
    mercer::product(*self.pairs, self.rows, self.columns, weights.data(), outputs, first, out.data());
}
template <class T, class W>
void symmetric_product(const BoundPairs<T>& self, Weights<W> weights,
                       nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) {
    const Index n = self.columns, outputs = Index(weights.shape(1));
    if (self.rows != n || Index(weights.shape(0)) != n || Index(out.shape(0)) != n || Index(out.shape(1)) != outputs)
        throw std::invalid_argument("weights need a row per column, and out just as many entries");
    nb::gil_scoped_release release;
    mercer::symmetric_product(*self.pairs, n, weights.data(), outputs, out.data());
}
// The nearest columns of every row; see neighbors/nearest.hpp.
template <class T> void nearest(const BoundPairs<T>& self, T scale, Values<T> offset,
                                nb::ndarray<Index, nb::ndim<2>, nb::c_contig, nb::device::cpu> index,
                                nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu> value) {
    const Index k = Index(index.shape(1));
    if (Index(offset.shape(0)) != self.columns || Index(index.shape(0)) != self.rows ||
        Index(value.shape(0)) != self.rows || Index(value.shape(1)) != k || k > self.columns)
        throw std::invalid_argument("offset needs an entry per column, index and value k <= columns per row");
    nb::gil_scoped_release release;
    mercer::nearest(*self.pairs, self.rows, self.columns, scale, offset.data(), k, index.data(), value.data());
}

// Shows the garbage collector what is held: a user's function may hold what holds these pairs.
template <class T> int traverse_pairs(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const auto* bound = nb::inst_ptr<BoundPairs<T>>(self);
    Py_VISIT(bound->row_owner.ptr());
    Py_VISIT(bound->column_owner.ptr());
    const auto* python = dynamic_cast<const mercer::python::PythonPairs<T>*>(bound->pairs.get());
    return python ? python->traverse(visit, arg) : 0;
}
template <class T>
PyType_Slot pairs_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_pairs<T>)}, {0, nullptr}};

template <class T> void bind_pairs(nb::module_& m, const char* rows, const char* pairs, const char* formula_pairs) {
    nb::class_<Vectors<T>>(m, rows);
    m.def("dense_rows", &dense_rows<T>, "array"_a.noconvert());
    m.def("sparse_rows", &sparse_rows<T>, "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(),
          "columns"_a);
    m.def(
        "squares",
        [](const Vectors<T>& rows, nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu> out,
           std::optional<Values<double>> shift, std::optional<Values<double>> scale) {
            if (Index(out.shape(0)) != rows.source.rows) throw std::invalid_argument("out needs one entry per row");
            for (const auto& values : {shift, scale})
                if (values && Index(values->shape(0)) != rows.source.columns)
                    throw std::invalid_argument("shift and scale need one entry per column");
            const mercer::Frame frame{shift ? shift->data() : nullptr, scale ? scale->data() : nullptr};
            nb::gil_scoped_release release;
            mercer::squares(rows.source, frame, out.data());
        },
        "rows"_a, "out"_a.noconvert(), "shift"_a.none() = nb::none(), "scale"_a.none() = nb::none());
    using Matrix = BoundPairs<T>;
    nb::class_<Matrix> matrix(m, pairs, nb::type_slots(pairs_slots<T>));
    matrix
        .def(
            "fill",
            [](const Matrix& self, std::optional<Positions> index, Index first_row, Index first_column, Out<T> out) {
                mercer::python::fill(*self.pairs, self.rows, self.columns, index, first_row, first_column, out);
            },
            "index"_a.none(), "first_row"_a, "first_column"_a, "out"_a.noconvert())
        .def(
            "fill_symmetric",
            [](const Matrix& self, Out<T> out) {
                if (self.rows != self.columns) throw std::invalid_argument("rows and columns are not the same samples");
                mercer::python::fill_symmetric(*self.pairs, self.columns, out);
            },
            "out"_a.noconvert())
        .def("product", &product<T, T>, "weights"_a.noconvert(), "starts"_a, "out"_a.noconvert())
        .def("symmetric_product", &symmetric_product<T, T>, "weights"_a.noconvert(), "out"_a.noconvert())
        .def("nearest", &nearest<T>, "scale"_a, "offset"_a.noconvert(), "index"_a.noconvert(), "value"_a.noconvert());
    if constexpr (!std::is_same_v<T, double>)
        matrix.def("product", &product<T, double>, "weights"_a.noconvert(), "starts"_a, "out"_a.noconvert())
            .def("symmetric_product", &symmetric_product<T, double>, "weights"_a.noconvert(), "out"_a.noconvert());
    // None where binding anew costs as little.
    nb::class_<FormulaPairs<T>, Matrix>(m, formula_pairs)
        .def(
            "with_rows",
            [](const FormulaPairs<T>& self, const Vectors<T>& x) -> std::optional<FormulaPairs<T>*> {
                auto other = std::make_unique<FormulaPairs<T>>(x, self);
                if (!other->pairs) return std::nullopt;
                return other.release();
            },
            "x"_a, nb::rv_policy::take_ownership);
    m.def(
        "bind",
        [](const Vectors<T>& x, const Vectors<T>& z, const mercer::Formula& f, std::optional<Values<double>> shift,
           std::optional<Values<double>> scale,
           std::optional<std::pair<double, double>> grid) { return new FormulaPairs<T>(x, z, f, shift, scale, grid); },
        // A grid (origin, step) says that every coordinate of x and z is origin + step * (0 .. 255); without, one is
        // looked for.
        "x"_a, "z"_a, "formula"_a, "shift"_a.none(), "scale"_a.none(), "grid"_a.none() = nb::none());
    m.def(
        "apply",
        [](const mercer::Formula& f, nb::ndarray<T, nb::c_contig, nb::device::cpu> values) {
            nb::gil_scoped_release release;
            mercer::instruction_set().of<T>().apply(f.steps.data(), f.steps.data() + f.steps.size(), values.data(),
                                                    values.size());
        },
        "formula"_a, "values"_a.noconvert());
}

} // namespace

void bind_kernels(nb::module_& m) {
    nb::enum_<mercer::Reduction>(m, "Reduction")
        .value("dot", mercer::Reduction::dot)
        .value("squared_distance", mercer::Reduction::squared_distance)
        .value("squared_direct", mercer::Reduction::squared_direct)
        .value("l1", mercer::Reduction::l1)
        .value("linf", mercer::Reduction::linf)
        .value("intersection", mercer::Reduction::intersection)
        .value("chi2", mercer::Reduction::chi2)
        .value("chi2_distance", mercer::Reduction::chi2_distance)
        .value("jensen_shannon", mercer::Reduction::jensen_shannon)
        .value("equal", mercer::Reduction::equal);
    nb::enum_<mercer::Op>(m, "Op")
        .value("affine", mercer::Op::affine)
        .value("integer", mercer::Op::integer)
        .value("power", mercer::Op::power)
        .value("exp", mercer::Op::exp)
        .value("tanh", mercer::Op::tanh)
        .value("matern32", mercer::Op::matern32)
        .value("matern52", mercer::Op::matern52)
        .value("series", mercer::Op::series)
        .value("decay", mercer::Op::decay)
        .value("is_zero", mercer::Op::is_zero);
    nb::class_<mercer::ReductionProperties>(m, "ReductionProperties")
        .def_ro("product", &mercer::ReductionProperties::product)
        .def_ro("distance", &mercer::ReductionProperties::distance)
        .def_ro("power", &mercer::ReductionProperties::power)
        .def_ro("movable", &mercer::ReductionProperties::movable)
        .def_ro("relative", &mercer::ReductionProperties::relative);
    m.def("properties_of", [](mercer::Reduction reduction) { return mercer::properties_of(reduction); }, "reduction"_a);
    using mercer::python::StepTuple;
    nb::class_<mercer::Formula>(m, "Formula")
        .def(
            "__init__",
            [](mercer::Formula* self, mercer::Reduction reduction, const std::vector<StepTuple>& steps, double rate) {
                new (self) mercer::Formula{reduction, mercer::python::steps_of(steps), rate};
            },
            "reduction"_a, "steps"_a, "rate"_a);
    bind_pairs<float>(m, "VectorsF32", "PairsF32", "FormulaPairsF32");
    bind_pairs<double>(m, "VectorsF64", "PairsF64", "FormulaPairsF64");
    m.def("instruction_set", [] { return std::string(mercer::instruction_set().name); });
    m.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const auto* set : mercer::instruction_sets())
            if (set->available()) names.emplace_back(set->name);
        return names;
    });
    m.def(
        "select_instruction_set", [](const std::string& name) { mercer::select_instruction_set(name.c_str()); },
        "name"_a);
}
