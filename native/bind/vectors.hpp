// Rows of vectors together with the Python arrays that own their memory.
#pragma once

#include "samples/source.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace mercer::python {

template <class T> struct Vectors {
    Source<T> source;
    nanobind::object owner;
};

} // namespace mercer::python
