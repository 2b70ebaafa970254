#include "solvers/linear.hpp"
#include "bind/bind.hpp"
#include "threads/pool.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;

namespace {

template <class T> using Dense = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Values = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
// Primal, dual, violation, iterations, whether they converged and whether constraints contradict each other.
using Numbers = std::tuple<double, double, double, Index, bool, bool>;
// The arrays q, lower, upper and ridge of the k-th problem, and its l1.
using Pose =
    nb::typed<nb::callable, std::tuple<Values<double>, Values<double>, Values<double>, Values<double>, double>(Index)>;
// Problem, iterations, violation, gap, active coefficients; whether to stop.
using Report = nb::typed<nb::callable, bool(Index, Index, double, double, Index)>;

struct Raised : nb::object {
    NB_OBJECT_DEFAULT(Raised, nb::object, "BaseException", PyExceptionInstance_Check)
};

// The problems on some rows: a function of Python's that gives the k-th of them when it is wanted, as many may take far
// more memory than the rows. Each is five arrays of mercer/problem.py, with one l1 for all coefficients.
struct Problems {
    const Pose& pose;
    Index count;

    mercer::linear::LinearProblem at(Index k, Index rows) const {
        nb::gil_scoped_acquire gil;
        const auto [q, lower, upper, ridge, l1] =
            nb::cast<std::tuple<Values<double>, Values<double>, Values<double>, Values<double>, double>>(pose(k));
        const std::size_t n = std::size_t(rows);
        if (q.shape(0) != n || lower.shape(0) != n || upper.shape(0) != n || ridge.shape(0) != n)
            throw std::invalid_argument("a problem needs one coefficient per row");
        mercer::linear::LinearProblem problem;
        problem.l1 = l1;
        problem.terms.reserve(n);
        for (std::size_t i = 0; i < n; ++i)
            problem.terms.push_back({q.data()[i], lower.data()[i], upper.data()[i], ridge.data()[i]});
        return problem;
    }
};

// Weights, one row per output, their certificates, and the exception of an interruption or None.
using Found = std::tuple<nb::ndarray<nb::numpy, double>, std::vector<Numbers>, std::optional<Raised>>;

template <class T> Found run(const mercer::Source<T>& source, double constant, const Problems& problems,
                             const mercer::linear::Options& options) {
    const Index outputs = problems.count;
    const std::size_t width = std::size_t(source.columns) + 1;
    auto weights = std::make_unique<double[]>(std::size_t(outputs) * width);
    std::vector<Numbers> numbers;
    std::vector<mercer::linear::LinearSolution> solutions(static_cast<std::size_t>(outputs));
    std::optional<Raised> interrupt;
    try {
        nb::gil_scoped_release release;
        auto fill = [&](Index k) { return problems.at(k, source.rows); };
        mercer::linear::solve<T>(source, constant, fill, options, solutions);
    } catch (const mercer::Interrupted&) {
        for (const auto& s : solutions)
            if (!s.certified) throw;
        interrupt = nb::borrow<Raised>(take_interrupt());
    }
    for (std::size_t k = 0; k < solutions.size(); ++k) {
        const auto& s = solutions[k];
        std::copy(s.weights.begin(), s.weights.end(), weights.get() + k * width);
        numbers.emplace_back(s.primal, s.dual, s.violation, s.iterations, s.converged, s.contradiction);
    }
    double* data = weights.release();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return {nb::ndarray<nb::numpy, double>(data, {std::size_t(outputs), width}, owner), std::move(numbers), interrupt};
}

// A function of Python's, or None, as the solvers call it: from any thread.
std::function<bool(const mercer::linear::LinearProgress&)> reporter(const std::optional<Report>& progress) {
    if (!progress) return {};
    return [&progress](const mercer::linear::LinearProgress& p) {
        nb::gil_scoped_acquire gil;
        try {
            return nb::cast<bool>(nb::bool_((*progress)(p.problem, p.iterations, p.violation, p.gap, p.active)));
        } catch (const nb::python_error& error) {
            if (!error.matches(PyExc_KeyboardInterrupt)) throw;
            keep_interrupt(nb::borrow(error.value()));
        }
        throw mercer::Interrupted();
    };
}

template <class T> void bind_solve(nb::module_& m) {
    m.def(
        "solve_linear_dense",
        [](Dense<T> array, double constant, Pose pose, Index problems, bool primal, double tol, Index max_iterations,
           std::uint64_t seed, std::optional<Report> progress) {
            mercer::Source<T> source;
            source.rows = Index(array.shape(0));
            source.columns = source.row_stride = Index(array.shape(1));
            source.column_stride = 1;
            source.data = array.data();
            return run(source, constant, {pose, problems}, {primal, tol, max_iterations, seed, reporter(progress)});
        },
        "array"_a.noconvert(), "constant"_a, "pose"_a, "problems"_a, "primal"_a, "tol"_a, "max_iterations"_a, "seed"_a,
        "progress"_a.none());
    m.def(
        "solve_linear_sparse",
        [](Values<T> values, Values<std::int32_t> indices, Values<Index> indptr, Index columns, double constant,
           Pose pose, Index problems, bool primal, double tol, Index max_iterations, std::uint64_t seed,
           std::optional<Report> progress) {
            mercer::Source<T> source;
            source.rows = Index(indptr.shape(0)) - 1;
            source.columns = columns;
            source.values = values.data();
            source.indices = indices.data();
            source.indptr = indptr.data();
            return run(source, constant, {pose, problems}, {primal, tol, max_iterations, seed, reporter(progress)});
        },
        "values"_a.noconvert(), "indices"_a.noconvert(), "indptr"_a.noconvert(), "columns"_a, "constant"_a, "pose"_a,
        "problems"_a, "primal"_a, "tol"_a, "max_iterations"_a, "seed"_a, "progress"_a.none());
}

} // namespace

void bind_linear(nb::module_& m) {
    bind_solve<float>(m);
    bind_solve<double>(m);
}
