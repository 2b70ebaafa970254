// Compositions: programs as Python writes them, the matrices they make, and bounds on what float32 does to these.
#include "kernels/composition.hpp"
#include "bind/bind.hpp"
#include "bind/functions.hpp"
#include "bind/matrices.hpp"
#include "bind/steps.hpp"
#include "costs.hpp"
#include "kernels/bounds.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::BoundMatrices;
using mercer::python::BoundPairs;
using mercer::python::Positions;

namespace {

using Values = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Levels = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using InstructionTuple = std::tuple<mercer::Action, Index, double, std::vector<mercer::python::StepTuple>>;
// Pairs, or matrices.
using Parts = nb::typed<nb::list, nb::object>;
using BordersTuple = std::tuple<Values, Values, std::optional<Values>>;

std::vector<double> numbers(const Values& values) { return {values.data(), values.data() + values.shape(0)}; }

mercer::Program program_of(const std::vector<InstructionTuple>& instructions,
                           const std::vector<BordersTuple>& borders) {
    mercer::Program result;
    for (const auto& [action, operand, value, steps] : instructions)
        result.instructions.push_back({action, operand, value, mercer::python::steps_of(steps)});
    for (const auto& [of_x, of_z, diagonal] : borders)
        result.borders.push_back({numbers(of_x), numbers(of_z), diagonal ? numbers(*diagonal) : std::vector<double>{}});
    return result;
}

// The pairs of a list, and what owns their memory.
template <class T>
std::vector<std::shared_ptr<const mercer::Pairs<T>>> pairs_of(const Parts& parts, Index rows, Index columns) {
    std::vector<std::shared_ptr<const mercer::Pairs<T>>> result;
    for (nb::handle part : parts) {
        const auto& bound = nb::cast<const BoundPairs<T>&>(part);
        if (bound.rows != rows || bound.columns != columns)
            throw std::invalid_argument("the parts of a composition must have its shape");
        result.push_back(bound.pairs);
    }
    return result;
}

template <class T> void bind_pairs(nb::module_& m, const char* compose, const char* function) {
    m.def(
        compose,
        [](const Parts& parts, const mercer::Program& program, Index rows, Index columns) {
            auto bound = pairs_of<T>(parts, rows, columns);
            const bool square = program.exact_diagonal() && rows == columns;
            return new BoundPairs<T>{mercer::compose<T>(std::move(bound), program, rows, columns,
                                                        square ? mercer::Diagonal::of(rows) : mercer::Diagonal{}),
                                     rows, columns, nb::object(parts)};
        },
        "parts"_a, "program"_a, "rows"_a, "columns"_a);
    // Blocks that an object with fill(out, rows, columns) fills.
    m.def(
        function,
        [](nb::object pairs, Index rows, Index columns) {
            return new BoundPairs<T>{std::make_shared<mercer::python::PythonPairs<T>>(pairs, rows, columns), rows,
                                     columns};
        },
        "pairs"_a, "rows"_a, "columns"_a);
}

// A matrix that exists as pairs of its rows with these of its columns, in the precision T.
template <class T, class S> void bind_given(nb::module_& m, const char* name) {
    m.def(
        name,
        [](nb::ndarray<const S, nb::ndim<2>, nb::device::cpu> matrix, Positions columns) {
            const auto rows = Index(matrix.shape(0)), many = Index(columns.shape(0));
            auto pairs = mercer::given_pairs<T>(matrix.data(), matrix.stride(0), matrix.stride(1),
                                                mercer::python::places(std::nullopt, rows),
                                                mercer::python::places(columns, Index(matrix.shape(1))));
            return new BoundPairs<T>{std::move(pairs), rows, many, nb::cast(matrix)};
        },
        "matrix"_a.noconvert(), "columns"_a);
}

// In single precision, too, if there are bounds on its errors. With `exact` the parts are for single precision alone,
// and that is the matrix in double precision.
BoundMatrices* compose_matrices(const Parts& parts, const mercer::Program& program, Index size,
                                const std::optional<mercer::EntryErrors>& errors,
                                std::optional<const BoundMatrices*> given) {
    auto held = std::make_unique<BoundMatrices>();
    held->same_bits = !given;
    held->owner = nb::make_tuple(parts, given ? nb::find(*given) : nb::none());
    std::vector<const mercer::Gram<float>*> single;
    std::vector<const mercer::Gram<double>*> exact;
    for (nb::handle part : parts) {
        const auto& matrices = nb::cast<const BoundMatrices&>(part).matrices;
        if (matrices.single) single.push_back(matrices.single.get());
        exact.push_back(matrices.exact.get());
    }
    if (errors && single.size() == exact.size())
        held->matrices.single = mercer::composed_gram<float>(std::move(single), program, size, *errors);
    if (given)
        held->matrices.exact = mercer::composed_gram<double>({(*given)->matrices.exact.get()},
                                                             mercer::Program{{{mercer::Action::part}}, {}}, size, 0.0);
    else
        held->matrices.exact = mercer::composed_gram<double>(std::move(exact), program, size, 0.0);
    return held.release();
}

} // namespace

void bind_composition(nb::module_& m) {
    nb::enum_<mercer::Action>(m, "Action")
        .value("part", mercer::Action::part)
        .value("constant", mercer::Action::constant)
        .value("add", mercer::Action::add)
        .value("multiply", mercer::Action::multiply)
        .value("steps", mercer::Action::steps)
        .value("multiply_borders", mercer::Action::multiply_borders)
        .value("subtract_borders", mercer::Action::subtract_borders)
        .value("inner_product", mercer::Action::inner_product);
    // Instructions (action, operand, value, steps), and borders (of x, of z, the diagonal or None).
    nb::class_<mercer::Program>(m, "Program")
        .def(
            "__init__",
            [](mercer::Program* self, const std::vector<InstructionTuple>& instructions,
               const std::vector<BordersTuple>& borders) {
                new (self) mercer::Program(program_of(instructions, borders));
            },
            "instructions"_a, "borders"_a);
    nb::class_<mercer::Bound>(m, "Bound")
        .def(
            "__init__",
            [](mercer::Bound* self, double size, double error) {
                mercer::Bound bound;
                bound.size = size, bound.error = error;
                new (self) mercer::Bound(bound);
            },
            "size"_a, "error"_a)
        .def_ro("size", &mercer::Bound::size)
        .def_prop_ro("error", [](const mercer::Bound& bound) {
            return mercer::error_of({{{mercer::Action::part}}, {}}, {bound});
        });
    // Of a formula's entries in float32: its reduction is of such a size at most, and distances have moved by so much.
    m.def(
        "bounds_of",
        [](const mercer::Formula& formula, const Values& size, const Values& moved) {
            if (size.shape(0) != moved.shape(0)) throw std::invalid_argument("a size for each move");
            std::vector<mercer::Bound> result;
            for (std::size_t k = 0; k < size.shape(0); ++k)
                result.push_back(mercer::bound_of({formula, size.data()[k], moved.data()[k]}));
            return result;
        },
        "formula"_a, "size"_a, "moved"_a);
    // What entries may be off by, for the levels of their two samples.
    nb::class_<mercer::EntryErrors>(m, "EntryErrors")
        .def_prop_ro("largest", &mercer::EntryErrors::largest)
        .def(
            "between",
            [](const mercer::EntryErrors& errors, Index i, Index j) {
                return errors.between(errors.level(i), errors.level(j));
            },
            "i"_a, "j"_a);
    // Of the entries that a program makes of parts, which have a bound for any two levels.
    m.def(
        "errors_of",
        [](const mercer::Program& program, const std::vector<std::vector<mercer::Bound>>& bounds, const Levels& level,
           int levels) {
            return mercer::errors_of(program, bounds, {level.data(), level.data() + level.shape(0)}, levels);
        },
        "program"_a, "bounds"_a, "level"_a, "levels"_a);
    bind_pairs<float>(m, "compose_f32", "function_pairs_f32");
    bind_pairs<double>(m, "compose_f64", "function_pairs_f64");
    bind_given<float, float>(m, "given_pairs_f32");
    bind_given<float, double>(m, "given_pairs_f32");
    bind_given<double, float>(m, "given_pairs_f64");
    bind_given<double, double>(m, "given_pairs_f64");
    m.def("compose_matrices", &compose_matrices, "parts"_a, "program"_a, "size"_a, "errors"_a.none(),
          "exact"_a.none() = nb::none());
    m.def(
        "pairs_matrices",
        [](nb::object pairs, std::optional<Positions> order) {
            const auto& bound = nb::cast<const BoundPairs<double>&>(pairs);
            if (bound.rows != bound.columns) throw std::invalid_argument("the matrix must be square");
            auto held = std::make_unique<BoundMatrices>();
            held->owner = pairs;
            held->matrices.exact = mercer::pairs_gram<double>(bound.pairs, mercer::python::places(order, bound.rows),
                                                              mercer::costs::kObjects);
            return held.release();
        },
        "pairs"_a, "order"_a.none());
}
