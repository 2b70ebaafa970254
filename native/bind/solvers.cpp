#include "bind/bind.hpp"
#include "bind/rows.hpp"
#include "solvers/solve.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;

namespace {

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Changing = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Groups = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

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

// The matrices of the solvers together with what owns their memory.
struct Held {
    mercer::Matrices matrices;
    nb::object owner;
};

template <class S> void bind_matrices(nb::module_& m) {
    m.def(
        "formula_matrices",
        [](const mercer::python::Rows<S>& rows, const mercer::Formula& formula, std::optional<Values> shift,
           std::optional<Values> scale, double error, double lost, std::size_t budget, std::optional<Positions> order) {
            mercer::Frame frame{shift ? shift->data() : nullptr, scale ? scale->data() : nullptr};
            auto held = std::make_unique<Held>();
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
            auto held = std::make_unique<Held>();
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

// A problem with the arrays that hold it, as Python gives it.
struct PythonTask {
    Values q, lower, upper, l1, ridge, total;
    std::optional<Positions> sample;
    std::optional<Groups> group;
    Changing a, f;
    mercer::Task task;
};

void check(const PythonTask& t, Index size) {
    const std::size_t n = t.q.shape(0);
    for (std::size_t other :
         {t.lower.shape(0), t.upper.shape(0), t.l1.shape(0), t.ridge.shape(0), t.a.shape(0), t.f.shape(0)})
        if (other != n) throw std::invalid_argument("every array of a problem needs one entry per coefficient");
    if ((t.sample && t.sample->shape(0) != n) || (t.group && t.group->shape(0) != n) || t.total.shape(0) > 2)
        throw std::invalid_argument(
            "sample and group need one entry per coefficient, and there are at most two groups");
    if (!t.sample && Index(n) != size) throw std::invalid_argument("a coefficient for each sample, or their numbers");
    if (t.sample)
        for (std::size_t p = 0; p < n; ++p)
            if (t.sample->data()[p] < 0 || t.sample->data()[p] >= size) throw std::out_of_range("sample");
    if (t.group)
        for (std::size_t p = 0; p < n; ++p)
            if (t.group->data()[p] >= t.total.shape(0)) throw std::out_of_range("group");
}

} // namespace

void bind_solvers(nb::module_& m) {
    using mercer::Status;
    nb::enum_<Status>(m, "Status")
        .value("converged", Status::converged)
        .value("step_limit", Status::step_limit)
        .value("stopped", Status::stopped)
        .value("stalled", Status::stalled)
        .value("unbounded", Status::unbounded);
    nb::class_<mercer::Progress>(m, "Progress")
        .def_ro("problem", &mercer::Progress::problem)
        .def_ro("steps", &mercer::Progress::steps)
        .def_ro("violation", &mercer::Progress::violation)
        .def_ro("gap", &mercer::Progress::gap)
        .def_ro("bits", &mercer::Progress::bits)
        .def_ro("kept", &mercer::Progress::kept)
        .def_ro("working", &mercer::Progress::working)
        .def_ro("count", &mercer::Progress::count)
        .def_ro("computed", &mercer::Progress::computed);
    nb::class_<Held>(m, "Matrices");
    m.attr("TINY") =
        mercer::kTiny; // of so few coefficients, of at most four times as many samples: in double precision
    bind_matrices<float>(m);
    bind_matrices<double>(m);
    m.def(
        "python_matrices",
        [](nb::object gram, Values diagonal) {
            auto held = std::make_unique<Held>();
            held->matrices.exact = std::make_unique<PythonGram>(std::move(gram), diagonal);
            return held.release();
        },
        "gram"_a, "diagonal"_a.noconvert());
    nb::class_<PythonTask>(m, "Task")
        .def(
            "__init__",
            [](PythonTask* self, Values q, Values lower, Values upper, Values l1, Values ridge, Values total,
               std::optional<Positions> sample, std::optional<Groups> group, Changing a, Changing f) {
                new (self) PythonTask{q, lower, upper, l1, ridge, total, sample, group, a, f, {}};
                mercer::Problem& p = self->task.problem;
                p.count = Index(q.shape(0));
                p.q = q.data(), p.lower = lower.data(), p.upper = upper.data(), p.l1 = l1.data(),
                p.ridge = ridge.data();
                p.sample = sample ? sample->data() : nullptr;
                p.group = group ? group->data() : nullptr;
                p.groups = int(total.shape(0));
                for (std::size_t g = 0; g < total.shape(0) && g < 2; ++g) self->task.total[g] = total.data()[g];
                self->task.a = a.data(), self->task.f = f.data();
            },
            "q"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "l1"_a.noconvert(), "ridge"_a.noconvert(),
            "total"_a.noconvert(), "sample"_a.none(), "group"_a.none(), "a"_a.noconvert(), "f"_a.noconvert())
        // Primal, dual, violation and biases of a and f as they are.
        .def("certify",
             [](PythonTask& self) {
                 self.task.certificate = mercer::certify(self.task.problem, self.task.a, self.task.f, self.task.total);
             })
        .def_prop_ro("begun", [](const PythonTask& t) { return t.task.begun; })
        .def_prop_ro("status", [](const PythonTask& t) { return t.task.solved.status; })
        .def_prop_ro("steps", [](const PythonTask& t) { return t.task.solved.steps; })
        // The two samples with the most negative squared distance that was met, or None.
        .def_prop_ro("negative_pair",
                     [](const PythonTask& t) -> std::optional<std::pair<Index, Index>> {
                         const mercer::NegativeCurvature& met = t.task.solved.negative;
                         return met.i < 0 ? std::nullopt : std::optional(std::pair(met.i, met.j));
                     })
        .def_prop_ro("primal", [](const PythonTask& t) { return t.task.certificate.primal; })
        .def_prop_ro("dual", [](const PythonTask& t) { return t.task.certificate.dual; })
        .def_prop_ro("violation", [](const PythonTask& t) { return t.task.certificate.violation; })
        .def_prop_ro("bias", [](const PythonTask& t) {
            return std::vector<double>(t.task.certificate.bias, t.task.certificate.bias + t.task.problem.groups);
        });
    m.def(
        "solve",
        [](const Held& held, nb::list list, double tol, Index max_steps, std::size_t budget, bool shrinking,
           nb::object progress) {
            std::vector<mercer::Task> tasks;
            for (nb::handle item : list) {
                const auto& t = nb::cast<const PythonTask&>(item);
                check(t, held.matrices.exact->size());
                if (t.task.problem.groups < 1) throw std::invalid_argument("a problem needs an equality constraint");
                tasks.push_back(t.task);
            }
            mercer::Settings settings;
            settings.tol = tol;
            settings.max_steps = max_steps;
            settings.budget = budget;
            if (!shrinking) settings.vast = std::numeric_limits<Index>::max();
            if (!progress.is_none())
                settings.progress = [&](const mercer::Progress& p) {
                    nb::gil_scoped_acquire gil;
                    return nb::cast<bool>(nb::bool_(progress(p)));
                };
            auto hand_back = [&] {
                for (std::size_t i = 0; i < tasks.size(); ++i) nb::cast<PythonTask&>(list[i]).task = tasks[i];
            };
            try {
                nb::gil_scoped_release release;
                mercer::solve(held.matrices, tasks, settings);
            } catch (...) {
                hand_back();
                throw;
            }
            hand_back();
        },
        "matrices"_a, "tasks"_a, "tol"_a, "max_steps"_a, "budget"_a, "shrinking"_a, "progress"_a.none());
}
