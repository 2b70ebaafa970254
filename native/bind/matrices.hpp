// The matrices that solvers work on, together with the Python arrays that own their memory.
#pragma once

#include "gram/matrices.hpp"

#include <nanobind/nanobind.h>

namespace mercer::python {

struct BoundMatrices {
    Matrices matrices;
    nanobind::object owner;
};

} // namespace mercer::python
