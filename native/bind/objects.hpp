// Objects such as strings, trees and graphs with the Python arrays that own their memory, and the one way to bind
// kernels that compare two of them.
#pragma once

#include "bind/arrays.hpp"
#include "bind/pairs.hpp"
#include "kernels/object_pairs.hpp"
#include "samples/words.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <tuple>
#include <utility>

namespace mercer::python {

template <class Object> struct Owned {
    Object view;
    nanobind::object owner;
};

// The matrix of a kernel of two sets of objects.
template <class T> struct BoundObjects : BoundPairs<T> {
    BoundObjects(std::unique_ptr<ObjectPairs<T>> made, nanobind::object x, nanobind::object z)
        : BoundPairs<T>{nullptr, made->rows(), made->columns(), std::move(x), std::move(z)}, compared(made.get()) {
        this->pairs = std::move(made);
    }
    const ObjectPairs<T>* compared; // the same, with its diagonal
};

// m.name(x, z, parameters): the matrix that `compare` makes of two sets of objects.
template <class T, class Object, class... Parameters, class... Names>
void bind_comparison(nanobind::module_& m, const char* name,
                     std::unique_ptr<ObjectPairs<T>> (*compare)(const Object&, const Object&, Parameters...),
                     const Names&... names) {
    m.def(
        name,
        [compare](const Owned<Object>& x, const Owned<Object>& z, Parameters... parameters) {
            std::unique_ptr<ObjectPairs<T>> pairs;
            {
                nanobind::gil_scoped_release release;
                pairs = compare(x.view, z.view, parameters...);
            }
            return new BoundObjects<T>(std::move(pairs), x.owner, z.owner);
        },
        nanobind::arg("x"), nanobind::arg("z"), names...);
}

// Words as two arrays of their own: all letters, and where each word begins among them.
using WordArrays = std::tuple<Made<std::int32_t>, Made<Index>>;
inline WordArrays arrays_of(const Words& words) {
    return {handed_over(std::vector<std::int32_t>(words.letters())),
            handed_over(std::vector<Index>(words.starts().begin(), words.starts().end()))};
}

} // namespace mercer::python
