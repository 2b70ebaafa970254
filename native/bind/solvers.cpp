#include "bind/bind.hpp"
#include "bind/matrices.hpp"
#include "solvers/chains.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::BoundMatrices;

namespace {

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Changing = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Groups = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A problem with the arrays that hold it, as Python gives it.
struct PythonProblemRun {
    Values q, lower, upper, l1, ridge, total;
    std::optional<Positions> sample;
    std::optional<Groups> group;
    Changing a, f;
    mercer::ProblemRun run;
};

void check(const PythonProblemRun& t, Index size) {
    const std::size_t n = t.q.shape(0);
    for (std::size_t other :
         {t.lower.shape(0), t.upper.shape(0), t.l1.shape(0), t.ridge.shape(0), t.a.shape(0), t.f.shape(0)})
        if (other != n) throw std::invalid_argument("every array of a problem needs one entry per coefficient");
    if ((t.sample && t.sample->shape(0) != n) || (t.group && t.group->shape(0) != n) || t.total.shape(0) > 2)
        throw std::invalid_argument(
            "sample and group need one entry per coefficient, and there are at most two groups");
    if (!t.sample && Index(n) != size)
        throw std::invalid_argument("a problem of " + std::to_string(n) + " coefficients on " + std::to_string(size) +
                                    " samples must say in `sample` to which of them each coefficient belongs");
    if (t.sample) mercer::python::check_positions(*t.sample, size, "sample of a problem");
    if (t.group)
        for (std::size_t p = 0; p < n; ++p)
            if (t.group->data()[p] >= t.total.shape(0)) throw std::out_of_range("group");
}

// Chains of problems of one group, one after the other in arrays; coefficients and what is known of each solution go to
// the rows of their price: primal, dual, violation, bias, steps and a'Ka.
void bind_chains(nb::module_& m) {
    using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    using Facts = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
    m.def(
        "solve_chains",
        [](const BoundMatrices& held, Values q, Values lower, Values upper, Values l1, Values ridge, Positions sample,
           Positions starts, Values totals, Values prices, double tol, double close, Index max_steps,
           std::size_t budget, Rows a, Facts facts, std::optional<nb::typed<nb::callable, bool()>> stop) {
            const std::size_t size = q.shape(0), count = totals.shape(0), links = prices.shape(0);
            for (std::size_t other : {lower.shape(0), upper.shape(0), l1.shape(0), ridge.shape(0), sample.shape(0)})
                if (other != size) throw std::invalid_argument("every array needs one entry per coefficient");
            if (starts.shape(0) != count + 1 || starts.data()[0] != 0 || starts.data()[count] != Index(size))
                throw std::invalid_argument("chains are to follow each other");
            for (std::size_t i = 0; i < count; ++i)
                if (starts.data()[i] > starts.data()[i + 1]) throw std::invalid_argument("chains in their order");
            if (a.shape(0) != links || a.shape(1) != size || facts.shape(0) != links || facts.shape(1) != count ||
                facts.shape(2) != 6)
                throw std::invalid_argument("answers need a row per price");
            for (std::size_t p = 0; p < size; ++p)
                if (sample.data()[p] < 0 || sample.data()[p] >= held.matrices.exact->size())
                    throw std::out_of_range("sample");
            std::vector<mercer::Chain> chains(count);
            for (std::size_t i = 0; i < count; ++i) {
                const Index at = starts.data()[i];
                mercer::Problem& p = chains[i].problem;
                p.count = starts.data()[i + 1] - at;
                p.q = q.data() + at, p.lower = lower.data() + at, p.upper = upper.data() + at;
                p.l1 = l1.data() + at, p.ridge = ridge.data() + at, p.sample = sample.data() + at;
                chains[i].total[0] = totals.data()[i];
            }
            mercer::Settings settings;
            settings.tol = tol, settings.close = close, settings.max_steps = max_steps, settings.budget = budget;
            const auto answered = [&](std::size_t i, std::size_t link, const mercer::ProblemRun& run) {
                std::copy_n(run.a, run.problem.count, a.data() + link * size + std::size_t(starts.data()[i]));
                double* out = facts.data() + (link * count + i) * 6;
                const mercer::Certificate& c = run.certificate;
                out[0] = c.primal, out[1] = c.dual, out[2] = c.violation, out[3] = c.bias[0];
                out[4] = double(run.solved.steps);
                out[5] = 0;
                for (Index p = 0; p < run.problem.count; ++p) out[5] += run.a[p] * run.f[p];
            };
            std::function<bool()> asked;
            if (stop)
                asked = [&] {
                    nb::gil_scoped_acquire gil;
                    return nb::cast<bool>(nb::bool_((*stop)()));
                };
            const std::vector<double> all(prices.data(), prices.data() + links);
            nb::gil_scoped_release release;
            mercer::solve_chains(held.matrices, chains, all, settings, answered, asked);
        },
        "matrices"_a, "q"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "l1"_a.noconvert(),
        "ridge"_a.noconvert(), "sample"_a.noconvert(), "starts"_a.noconvert(), "totals"_a.noconvert(),
        "prices"_a.noconvert(), "tol"_a, "close"_a, "max_steps"_a, "budget"_a, "a"_a.noconvert(), "facts"_a.noconvert(),
        "stop"_a.none());
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
    m.attr("TINY") =
        mercer::kTiny; // of so few coefficients, of at most four times as many samples: in double precision
    nb::class_<PythonProblemRun>(m, "ProblemRun")
        .def(
            "__init__",
            [](PythonProblemRun* self, Values q, Values lower, Values upper, Values l1, Values ridge, Values total,
               std::optional<Positions> sample, std::optional<Groups> group, Changing a, Changing f, bool known) {
                new (self) PythonProblemRun{q, lower, upper, l1, ridge, total, sample, group, a, f, {}};
                mercer::Problem& p = self->run.problem;
                p.count = Index(q.shape(0));
                p.q = q.data(), p.lower = lower.data(), p.upper = upper.data(), p.l1 = l1.data(),
                p.ridge = ridge.data();
                p.sample = sample ? sample->data() : nullptr;
                p.group = group ? group->data() : nullptr;
                p.groups = int(total.shape(0));
                for (std::size_t g = 0; g < total.shape(0) && g < 2; ++g) self->run.total[g] = total.data()[g];
                self->run.a = a.data(), self->run.f = f.data(), self->run.known = known;
            },
            "q"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "l1"_a.noconvert(), "ridge"_a.noconvert(),
            "total"_a.noconvert(), "sample"_a.none(), "group"_a.none(), "a"_a.noconvert(), "f"_a.noconvert(),
            "known"_a = false)
        // Primal, dual, violation and biases of a and f as they are.
        .def("certify",
             [](PythonProblemRun& self) {
                 self.run.certificate = mercer::certify(self.run.problem, self.run.a, self.run.f, self.run.total);
             })
        .def_prop_ro("begun", [](const PythonProblemRun& t) { return t.run.begun; })
        // Whether all of f is K a in single precision, so that it is known when another problem begins with a.
        .def_prop_ro("plain", [](const PythonProblemRun& t) { return t.run.plain; })
        .def_prop_ro("status", [](const PythonProblemRun& t) { return t.run.solved.status; })
        .def_prop_ro("steps", [](const PythonProblemRun& t) { return t.run.solved.steps; })
        // The two samples with the most negative squared distance that was met, or None.
        .def_prop_ro("negative_pair",
                     [](const PythonProblemRun& t) -> std::optional<std::pair<Index, Index>> {
                         const mercer::NegativeCurvature& met = t.run.solved.negative;
                         return met.i < 0 ? std::nullopt : std::optional(std::pair(met.i, met.j));
                     })
        .def_prop_ro("primal", [](const PythonProblemRun& t) { return t.run.certificate.primal; })
        .def_prop_ro("dual", [](const PythonProblemRun& t) { return t.run.certificate.dual; })
        .def_prop_ro("violation", [](const PythonProblemRun& t) { return t.run.certificate.violation; })
        .def_prop_ro("bias", [](const PythonProblemRun& t) {
            return std::vector<double>(t.run.certificate.bias, t.run.certificate.bias + t.run.problem.groups);
        });
    m.def(
        "solve",
        [](const BoundMatrices& held, nb::typed<nb::list, PythonProblemRun> list, double tol, Index max_steps,
           std::size_t budget, bool shrinking,
           std::optional<nb::typed<nb::callable, bool(const mercer::Progress&)>> progress) {
            std::vector<mercer::ProblemRun> runs;
            for (nb::handle item : list) {
                const auto& t = nb::cast<const PythonProblemRun&>(item);
                check(t, held.matrices.exact->size());
                if (t.run.problem.groups < 1) throw std::invalid_argument("a problem needs an equality constraint");
                runs.push_back(t.run);
            }
            mercer::Settings settings;
            settings.tol = tol;
            settings.max_steps = max_steps;
            settings.budget = budget;
            if (!shrinking) settings.vast = std::numeric_limits<Index>::max();
            if (progress)
                settings.progress = [&](const mercer::Progress& p) {
                    nb::gil_scoped_acquire gil;
                    return nb::cast<bool>(nb::bool_((*progress)(p)));
                };
            auto hand_back = [&] {
                for (std::size_t i = 0; i < runs.size(); ++i) nb::cast<PythonProblemRun&>(list[i]).run = runs[i];
            };
            try {
                nb::gil_scoped_release release;
                mercer::solve(held.matrices, runs, settings);
            } catch (...) {
                hand_back();
                throw;
            }
            hand_back();
        },
        "matrices"_a, "runs"_a, "tol"_a, "max_steps"_a, "budget"_a, "shrinking"_a, "progress"_a.none());
    bind_chains(m);
}
