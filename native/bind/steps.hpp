// Elementwise steps as Python writes them: (operation, a, b, coefficients).
#pragma once

#include "kernels/formula.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <vector>

namespace mercer::python {

using StepTuple = std::tuple<Op, double, double, std::vector<double>>;

inline std::vector<Step> steps_of(const std::vector<StepTuple>& given) {
    std::vector<Step> steps;
    for (const auto& [op, a, b, c] : given) steps.push_back({op, a, b, c});
    return steps;
}

} // namespace mercer::python
