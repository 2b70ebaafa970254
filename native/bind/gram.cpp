#include "bind/bind.hpp"
#include "bind/matrices.hpp"
#include "bind/rows.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::BoundMatrices;

namespace {

using Positions = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// The memory of an order of so many rows at the most, checked.
const Index* checked(const Positions& order, Index rows) {
    for (std::size_t i = 0; i < order.shape(0); ++i)
        if (order.data()[i] < 0 || order.data()[i] >= rows) throw std::invalid_argument("an order of other samples");
    return order.data();
}

// A matrix whose blocks come from Python: an object with between(rows, columns), which gives one with
// fill(out, rows, columns).
nb::object positions(const std::vector<Index>& index) {
    return nb::cast(nb::ndarray<nb::numpy, const Index>(index.data(), {index.size()}), nb::rv_policy::copy);
}

class PythonPairs final : public mercer::Pairs<double> {
  public:
    PythonPairs(nb::object pairs, Index rows, Index columns)
        : pairs_(std::move(pairs)), rows_(rows), columns_(columns) {}
    ~PythonPairs() override {
        nb::gil_scoped_acquire gil;
        pairs_.reset();
    }
    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, double* out,
              Index stride) const override {
        nb::gil_scoped_acquire gil;
        std::vector<Index> which(static_cast<std::size_t>(rows));
        for (Index r = 0; r < rows; ++r) which[std::size_t(r)] = index ? index[r] : first_row + r;
        nb::ndarray<nb::numpy, double, nb::ndim<2>> block(
            out, {std::size_t(rows), std::size_t(last_column - first_column)}, nb::handle(), {stride, 1});
        pairs_.attr("fill")(nb::cast(block, nb::rv_policy::reference), positions(which),
                            nb::slice(nb::int_(first_column), nb::int_(last_column), nb::none()));
    }
    void fill_symmetric(double* out, Index stride) const override { fill(nullptr, 0, rows_, 0, columns_, out, stride); }
    Index grain() const override { return std::max<Index>(1, columns_); }

  private:
    nb::object pairs_;
    Index rows_, columns_;
};

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
        return std::make_unique<PythonPairs>(gram_.attr("between")(positions(rows), positions(columns)),
                                             Index(rows.size()), Index(columns.size()));
    }
    const mercer::Pairs<double>& all() const override {
        nb::gil_scoped_acquire gil;
        if (!all_) {
            std::vector<Index> every(static_cast<std::size_t>(size()));
            for (Index i = 0; i < size(); ++i) every[std::size_t(i)] = i;
            all_ = between(every, every);
        }
        return *all_;
    }
    std::size_t bytes() const override { return 0; }
    std::size_t bytes_each() const override { return 0; }
    double cost() const override { return 100; }
    double error() const override { return 0; }

  private:
    nb::object gram_;
    Values diagonal_;
    mutable std::unique_ptr<mercer::Pairs<double>> all_;
};

// Rows in one precision, in the order of the matrix; False if it is not there in that precision, or in use.
template <class T> void bind_rows(nb::class_<BoundMatrices>& matrices) {
    using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    matrices.def(
        "rows",
        [](const BoundMatrices& held, Positions index, std::size_t budget, Block out) {
            const Index n = held.matrices.exact->size();
            checked(index, n);
            if (out.shape(0) != index.shape(0) || Index(out.shape(1)) != n)
                throw std::invalid_argument("expected one row of the matrix's width per position");
            const std::vector<Index> rows(index.data(), index.data() + index.shape(0));
            nb::gil_scoped_release release;
            return mercer::read_rows(held.matrices, rows, budget, out.data());
        },
        "index"_a, "budget"_a, "out"_a.noconvert());
}

template <class S> void bind_matrices(nb::module_& m) {
    m.def(
        "formula_matrices",
        [](const mercer::python::Rows<S>& rows, const mercer::Formula& formula, std::optional<Values> shift,
           std::optional<Values> scale, double error, double lost, std::size_t budget, std::optional<Positions> order) {
            mercer::Frame frame{shift ? shift->data() : nullptr, scale ? scale->data() : nullptr};
            auto held = std::make_unique<BoundMatrices>();
            held->owner = nb::make_tuple(rows.owner, order);
            auto source = rows.source;
            if (order) source.order = checked(*order, source.rows), source.rows = Index(order->shape(0));
            frame.grid = mercer::useful_grid<double>(source, source, formula, frame);
            mercer::Frame exact = frame;
            if (formula.pair != mercer::Pair::squared_distance) exact.shift = nullptr; // nothing is lost without
            if (std::isfinite(error)) {
                if (!frame.grid) frame.grid = mercer::useful_grid<float>(source, source, formula, frame);
                held->matrices.single = mercer::formula_gram<float>(source, formula, frame, error, budget, lost);
                budget -= std::min(budget, held->matrices.single->bytes());
            }
            held->matrices.exact = mercer::formula_gram<double>(source, formula, exact, 0.0, budget);
            return held.release();
        },
        "rows"_a, "formula"_a, "shift"_a.none(), "scale"_a.none(), "error"_a, "lost"_a, "budget"_a, "order"_a.none());
    m.def(
        "stored_matrices",
        [](nb::ndarray<const S, nb::ndim<2>, nb::device::cpu> matrix, std::optional<Positions> order) {
            if (matrix.shape(0) != matrix.shape(1)) throw std::invalid_argument("the matrix must be square");
            auto held = std::make_unique<BoundMatrices>();
            held->owner = nb::cast(matrix);
            std::vector<Index> places(matrix.shape(0));
            std::iota(places.begin(), places.end(), Index(0));
            if (order) places.assign(checked(*order, Index(places.size())), order->data() + order->shape(0));
            held->matrices.exact =
                mercer::stored_gram(matrix.data(), std::move(places), matrix.stride(0), matrix.stride(1));
            return held.release();
        },
        "matrix"_a.noconvert(), "order"_a.none());
}

} // namespace

void bind_gram(nb::module_& m) {
    nb::class_<BoundMatrices> matrices(m, "Matrices");
    matrices
        // Whether others will want rows after the solve that computes them.
        .def_prop_rw(
            "lasting", [](const BoundMatrices& held) { return held.matrices.memory.lasting; },
            [](BoundMatrices& held, bool lasting) { held.matrices.memory.lasting = lasting; })
        .def_prop_ro("computed", [](const BoundMatrices& held) { return Index(held.matrices.memory.computed); })
        .def_prop_ro("kept_bytes", [](const BoundMatrices& held) {
            return held.matrices.memory.bytes<float>() + held.matrices.memory.bytes<double>();
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
