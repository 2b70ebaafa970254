// Kernels of objects two at a time, together with the Python arrays that own the memory of the objects.
#pragma once

#include "kernels/one_by_one.hpp"
#include "samples/words.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

namespace mercer::python {

struct BoundObjects {
    std::unique_ptr<OneByOne> pairs;
    nanobind::object owner;
};

// Words as two arrays of their own: all letters, and where each word begins among them.
inline nanobind::tuple arrays_of(const Words& words) {
    auto copied = []<class T>(std::vector<T>&& values) {
        auto* kept = new std::vector<T>(std::move(values));
        nanobind::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
        return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner);
    };
    return nanobind::make_tuple(copied(std::vector<std::int32_t>(words.letters())),
                                copied(std::vector<Index>(words.starts().begin(), words.starts().end())));
}

} // namespace mercer::python
