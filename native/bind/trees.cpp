#include "bind/bind.hpp"
#include "bind/objects.hpp"
#include "trees/kernels.hpp"

#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::Array;

namespace {

using Trees = mercer::python::Owned<mercer::Trees>;

Trees trees(Array<Index> starts, Array<Index> child_starts, Array<std::int32_t> children, Array<std::int32_t> labels) {
    if (starts.shape(0) < 1 || child_starts.shape(0) < 1) throw std::invalid_argument("offsets begin with 0");
    const std::size_t count = starts.shape(0) - 1, nodes = child_starts.shape(0) - 1;
    if (Index(nodes) != starts.data()[count] || labels.shape(0) != nodes ||
        Index(children.shape(0)) != child_starts.data()[nodes])
        throw std::invalid_argument("arrays of trees have lengths that do not fit together");
    for (std::size_t t = 0; t < count; ++t)
        for (Index v = starts.data()[t]; v < starts.data()[t + 1]; ++v)
            for (Index c = child_starts.data()[v]; c < child_starts.data()[v + 1]; ++c)
                if (children.data()[c] < 0 || children.data()[c] >= v - starts.data()[t])
                    throw std::out_of_range("children come before their parent");
    return {{Index(count), starts.data(), child_starts.data(), children.data(), labels.data()},
            nb::make_tuple(starts, child_starts, children, labels)};
}

} // namespace

void bind_trees(nb::module_& m) {
    nb::class_<Trees>(m, "Trees")
        .def(
            "__init__",
            [](Trees* self, Array<Index> starts, Array<Index> child_starts, Array<std::int32_t> children,
               Array<std::int32_t> labels) { new (self) Trees(trees(starts, child_starts, children, labels)); },
            "starts"_a, "child_starts"_a, "children"_a, "labels"_a);
    nb::class_<mercer::Subtrees>(m, "Subtrees")
        .def(nb::init<>())
        .def(
            "learn",
            [](mercer::Subtrees& self, const Trees& x) { return mercer::python::handed_over(self.learn(x.view)); },
            "trees"_a)
        .def(
            "look_up",
            [](const mercer::Subtrees& self, const Trees& x) {
                return mercer::python::handed_over(self.look_up(x.view));
            },
            "trees"_a)
        .def("words", [](const mercer::Subtrees& self) { return mercer::python::arrays_of(self.words()); })
        .def("__len__", &mercer::Subtrees::size);
    mercer::python::bind_comparison(m, "subset_tree", &mercer::subset_tree, "decay"_a);
    mercer::python::bind_comparison(m, "partial_tree", &mercer::partial_tree, "decay"_a, "mu"_a);
}
