#include "bind/bind.hpp"
#include "bind/functions.hpp"
#include "bind/matrices.hpp"
#include "bind/vectors.hpp"
#include "costs.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::BoundMatrices;
using mercer::python::positions;
using mercer::python::PythonPairs;

namespace {

using mercer::python::Positions;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A matrix whose blocks come from Python: an object with between(rows, columns), which gives one with
// fill(out, rows, columns).
class PythonGram final : public mercer::Gram<double> {
  public:
    PythonGram(nb::object gram, Values diagonal) : gram_(std::move(gram)), diagonal_(std::move(diagonal)) {}
    ~PythonGram() override {
        nb::gil_scoped_acquire gil;
        all_.reset();
        gram_.reset();
        diagonal_ = {};
    }
    Index size() const override { return Index(diagonal_.shape(0)); }
    double diagonal(Index i) const override { return diagonal_.data()[i]; }
    std::unique_ptr<mercer::Pairs<double>> between(const std::vector<Index>& rows,
                                                   const std::vector<Index>& columns) const override {
        nb::gil_scoped_acquire gil;
        return std::make_unique<PythonPairs<double>>(gram_.attr("between")(positions(rows), positions(columns)),
                                                     Index(rows.size()), Index(columns.size()));
    }
    const mercer::Pairs<double>& all() const override {
        nb::gil_scoped_acquire gil;
        if (!all_) {
            std::vector<Index> every(static_cast<std::size_t>(size()));
            for (Index i = 0; i < size(); ++i) every[std::size_t(i)] = i;
            auto made = between(every, every); // other threads may come here while Python is at it
            if (!all_) all_ = std::move(made);
        }
        return *all_;
    }
    std::size_t bytes() const override { return 0; }
    std::size_t bytes_each() const override { return 0; }
    double cost() const override { return mercer::costs::kPython; }
    const mercer::EntryErrors& errors() const override { return errors_; }
    // Shows the garbage collector what is held: a user's function may hold the Gram matrix that holds this.
    int traverse(visitproc visit, void* arg) const {
        Py_VISIT(gram_.ptr());
        return all_ ? static_cast<const PythonPairs<double>&>(*all_).traverse(visit, arg) : 0;
    }

  private:
    nb::object gram_;
    Values diagonal_;
    mercer::EntryErrors errors_;
    mutable std::unique_ptr<mercer::Pairs<double>> all_;
};

template <class T> using Dense = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig>;
template <class T> Dense<T> dense(const mercer::Gram<T>& gram) {
    const auto n = std::size_t(gram.size());
    auto* values = new std::vector<T>(n * n);
    nb::capsule owner(values, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    {
        nb::gil_scoped_release release;
        gram.all().fill_symmetric(values->data(), gram.size());
    }
    return Dense<T>(values->data(), {n, n}, owner);
}

// Rows in one precision, in the order of the matrix; False if it is not there in that precision, or in use.
template <class T> void bind_rows(nb::class_<BoundMatrices>& matrices) {
    using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    matrices.def(
        "rows",
        [](const BoundMatrices& held, Positions index, std::size_t budget, Block out) {
            if (std::is_same_v<T, float> && !held.same_bits) return false;
            const Index n = held.matrices.exact->size();
            mercer::python::checked(index, n);
            if (out.shape(0) != index.shape(0) || Index(out.shape(1)) != n)
                throw std::invalid_argument("expected one row of the matrix's width per position");
            const std::vector<Index> rows(index.data(), index.data() + index.shape(0));
            nb::gil_scoped_release release;
            return mercer::read_rows(held.matrices, rows, budget, out.data());
        },
        "index"_a, "budget"_a, "out"_a.noconvert());
}

int traverse_matrices(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    const auto* held = nb::inst_ptr<BoundMatrices>(self);
    Py_VISIT(held->owner.ptr());
    const auto* python = dynamic_cast<const PythonGram*>(held->matrices.exact.get());
    return python ? python->traverse(visit, arg) : 0;
}
PyType_Slot matrices_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_matrices)}, {0, nullptr}};

template <class S> void bind_matrices(nb::module_& m) {
    m.def(
        "formula_matrices",
        [](const mercer::python::Vectors<S>& rows, const mercer::Formula& formula, std::optional<Values> shift,
           std::optional<Values> scale, const std::optional<mercer::EntryErrors>& errors, double lost,
           std::size_t budget, std::optional<Positions> order) {
            mercer::Frame frame{shift ? shift->data() : nullptr, scale ? scale->data() : nullptr};
            auto held = std::make_unique<BoundMatrices>();
            held->owner = nb::make_tuple(rows.owner, order);
            auto source = rows.source;
            if (order)
                source.order = mercer::python::checked(*order, source.rows), source.rows = Index(order->shape(0));
            frame.grid = mercer::useful_grid<double>(source, source, formula, frame);
            mercer::Frame exact = frame;
            if (formula.reduction != mercer::Reduction::squared_distance)
                exact.shift = nullptr; // nothing is lost without
            if (errors) {
                if (!frame.grid) frame.grid = mercer::useful_grid<float>(source, source, formula, frame);
                held->matrices.single = mercer::formula_gram<float>(source, formula, frame, *errors, budget, lost);
                budget -= std::min(budget, held->matrices.single->bytes());
            }
            held->matrices.exact = mercer::formula_gram<double>(source, formula, exact, 0.0, budget);
            return held.release();
        },
        "rows"_a, "formula"_a, "shift"_a.none(), "scale"_a.none(), "errors"_a.none(), "lost"_a, "budget"_a,
        "order"_a.none());
    // In single precision, too, if `largest` of the entries, or a bound on them, is finite.
    m.def(
        "stored_matrices",
        [](nb::ndarray<const S, nb::ndim<2>, nb::device::cpu> matrix, std::optional<Positions> order, double largest) {
            if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("the matrix must be square");
            auto held = std::make_unique<BoundMatrices>();
            held->owner = nb::cast(matrix);
            const std::vector<Index> places = mercer::python::places(order, Index(matrix.shape(0)));
            if (std::isfinite(largest))
                held->matrices.single =
                    mercer::given_gram<float>(matrix.data(), places, matrix.stride(0), matrix.stride(1), largest);
            held->matrices.exact =
                mercer::given_gram<double>(matrix.data(), places, matrix.stride(0), matrix.stride(1));
            return held.release();
        },
        "matrix"_a.noconvert(), "order"_a.none(), "largest"_a = std::numeric_limits<double>::infinity());
}

} // namespace

void bind_gram(nb::module_& m) {
    nb::class_<BoundMatrices> matrices(m, "Matrices", nb::type_slots(matrices_slots));
    matrices
        // Whether others will want rows after the solve that computes them.
        .def_prop_rw(
            "lasting", [](const BoundMatrices& held) { return held.matrices.memory.lasting; },
            [](BoundMatrices& held, bool lasting) { held.matrices.memory.lasting = lasting; })
        .def_prop_ro("computed", [](const BoundMatrices& held) { return Index(held.matrices.memory.computed); })
        // Of rows in both precisions; None while a solve works on them.
        .def_prop_ro("kept_bytes",
                     [](const BoundMatrices& held) -> std::optional<std::size_t> {
                         mercer::MatrixMemory& memory = held.matrices.memory;
                         const mercer::MatrixMemory::Use use(memory);
                         if (!use) return std::nullopt;
                         return memory.bytes<float>() + memory.bytes<double>();
                     })
        // Computes all entries now, in double precision, and keeps them in single precision.
        .def("hold",
             [](BoundMatrices& held) {
                 nb::gil_scoped_release release;
                 held.matrices.single = mercer::held_gram(*held.matrices.exact);
                 held.same_bits = false;
             })
        // The rows that are held, each with the zeros beyond it, or None.
        .def("held_rows",
             [](nb::handle_t<BoundMatrices> self) -> std::optional<nb::ndarray<nb::numpy, const float, nb::ndim<2>>> {
                 const auto& held = nb::cast<const BoundMatrices&>(self);
                 const float* rows = held.matrices.single ? held.matrices.single->row(0) : nullptr;
                 if (!rows) return std::nullopt;
                 const auto n = std::size_t(held.matrices.single->size());
                 return nb::ndarray<nb::numpy, const float, nb::ndim<2>>(
                     rows, {n, std::size_t(mercer::held_stride(Index(n)))}, self);
             })
        // What a solver would read, written out: in double precision, and in single precision or None.
        .def_prop_ro("errors",
                     [](const BoundMatrices& held) {
                         return held.matrices.single ? held.matrices.single->errors() : mercer::EntryErrors();
                     })
        .def("dense", [](const BoundMatrices& held) { return dense(*held.matrices.exact); })
        .def("dense_single", [](const BoundMatrices& held) -> std::optional<Dense<float>> {
            if (!held.matrices.single) return std::nullopt;
            return dense(*held.matrices.single);
        });
    bind_rows<float>(matrices);
    bind_rows<double>(matrices);
    bind_matrices<float>(m);
    bind_matrices<double>(m);
    m.def(
        "function_matrices",
        [](nb::object gram, Values diagonal) {
            auto held = std::make_unique<BoundMatrices>();
            held->matrices.exact = std::make_unique<PythonGram>(std::move(gram), diagonal);
            return held.release();
        },
        "gram"_a, "diagonal"_a.noconvert());
}
