#include "bind/bind.hpp"
#include "bind/functions.hpp"
#include "bind/matrices.hpp"
#include "bind/rows.hpp"
#include "gram/row_cache.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
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

template <class Cache, class Block> void check(const Cache& cache, const Positions& rows, const Block& block) {
    if (block.shape(0) != rows.shape(0) || Index(block.shape(1)) != cache.columns())
        throw std::invalid_argument("expected one row of the matrix's width per position");
}

template <class T> void bind_row_cache(nb::module_& m, const char* name) {
    using Cache = mercer::RowCache<T>;
    using Block = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    nb::class_<Cache>(m, name)
        .def(nb::init<Index, std::size_t>(), "columns"_a, "budget"_a)
        // Fills the rows of out that are cached and returns the positions of those that are not.
        .def(
            "get",
            [](Cache& self, Positions rows, Block out) {
                check(self, rows, out);
                std::vector<Index> missing;
                nb::gil_scoped_release release;
                for (Index r = 0; r < Index(rows.shape(0)); ++r)
                    if (!self.get(rows.data()[r], out.data() + r * Index(out.shape(1)))) missing.push_back(r);
                return missing;
            },
            "rows"_a, "out"_a.noconvert())
        .def(
            "put",
            [](Cache& self, Positions rows, Block values) {
                check(self, rows, values);
                nb::gil_scoped_release release;
                for (Index r = 0; r < Index(rows.shape(0)); ++r)
                    self.put(rows.data()[r], values.data() + r * Index(values.shape(1)));
            },
            "rows"_a, "values"_a.noconvert())
        .def_prop_ro("capacity", &Cache::capacity)
        .def_prop_ro("hits", &Cache::hits)
        .def_prop_ro("misses", &Cache::misses)
        .def("__len__", &Cache::size);
}

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

template <class S> void bind_matrices(nb::module_& m) {
    m.def(
        "formula_matrices",
        [](const mercer::python::Rows<S>& rows, const mercer::Formula& formula, std::optional<Values> shift,
           std::optional<Values> scale, double error, double lost, std::size_t budget, std::optional<Positions> order) {
            mercer::Frame frame{shift ? shift->data() : nullptr, scale ? scale->data() : nullptr};
            auto held = std::make_unique<BoundMatrices>();
            held->owner = nb::make_tuple(rows.owner, order);
            auto source = rows.source;
            if (order)
                source.order = mercer::python::checked(*order, source.rows), source.rows = Index(order->shape(0));
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
    bind_row_cache<float>(m, "RowCacheF32");
    bind_row_cache<double>(m, "RowCacheF64");
    // What a solver would read, written out: in double precision, and in single precision or None.
    nb::class_<BoundMatrices>(m, "Matrices")
        .def_prop_ro(
            "error",
            [](const BoundMatrices& self) { return self.matrices.single ? self.matrices.single->error() : 0.0; })
        .def("dense", [](const BoundMatrices& self) { return dense(*self.matrices.exact); })
        .def("dense_single", [](const BoundMatrices& self) -> std::optional<Dense<float>> {
            if (!self.matrices.single) return std::nullopt;
            return dense(*self.matrices.single);
        });
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
