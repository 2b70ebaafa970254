// Kernels of objects two at a time, together with the Python arrays that own the memory of the objects.
#pragma once

#include "kernels/one_by_one.hpp"

#include <nanobind/nanobind.h>

#include <memory>

namespace mercer::python {

struct BoundObjects {
    std::unique_ptr<OneByOne> pairs;
    nanobind::object owner;
};

} // namespace mercer::python
