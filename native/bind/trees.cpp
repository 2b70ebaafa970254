#include "bind/bind.hpp"
#include "bind/objects.hpp"
#include "trees/kernels.hpp"

#include <nanobind/ndarray.h>

#include <stdexcept>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;

namespace {

using Offsets = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Trees together with the Python arrays that own their memory.
struct TreeArrays {
    mercer::Trees trees;
    nb::object owner;

    TreeArrays(Offsets starts, Offsets child_starts, Numbers children, Numbers labels) {
        if (starts.shape(0) < 1 || child_starts.shape(0) < 1) throw std::invalid_argument("offsets begin with 0");
        const std::size_t count = starts.shape(0) - 1, nodes = child_starts.shape(0) - 1;
        if (Index(nodes) != starts.data()[count] || labels.shape(0) != nodes ||
            Index(children.shape(0)) != child_starts.data()[nodes])
            throw std::invalid_argument("arrays of trees have lengths that do not fit together");
        trees = {Index(count), starts.data(), child_starts.data(), children.data(), labels.data()};
        for (std::size_t t = 0; t < count; ++t)
            for (Index v = starts.data()[t]; v < starts.data()[t + 1]; ++v)
                for (Index c = child_starts.data()[v]; c < child_starts.data()[v + 1]; ++c)
                    if (children.data()[c] < 0 || children.data()[c] >= v - starts.data()[t])
                        throw std::out_of_range("children come before their parent");
        owner = nb::make_tuple(starts, child_starts, children, labels);
    }
};

nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> array(std::vector<std::int32_t>&& values) {
    auto* kept = new std::vector<std::int32_t>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<std::int32_t>*>(p); });
    return {kept->data(), {kept->size()}, owner};
}

const mercer::Trees& trees_of(nb::handle object) { return nb::cast<const TreeArrays&>(object).trees; }

} // namespace

void bind_trees(nb::module_& m) {
    nb::class_<TreeArrays>(m, "Trees")
        .def(nb::init<Offsets, Offsets, Numbers, Numbers>(), "starts"_a, "child_starts"_a, "children"_a, "labels"_a);
    nb::class_<mercer::Subtrees>(m, "Subtrees")
        .def(nb::init<>())
        .def("learn", [](mercer::Subtrees& self, const TreeArrays& x) { return array(self.learn(x.trees)); })
        .def("look_up", [](const mercer::Subtrees& self, const TreeArrays& x) { return array(self.look_up(x.trees)); })
        .def("words", [](const mercer::Subtrees& self) { return mercer::python::arrays_of(self.words()); })
        .def("__len__", &mercer::Subtrees::size);
    m.def("subset_tree", [](nb::object x, nb::object z, double decay) {
        auto pairs = mercer::subset_tree(trees_of(x), trees_of(z), decay);
        return mercer::python::BoundObjects{std::move(pairs), nb::make_tuple(x, z)};
    });
    m.def("partial_tree", [](nb::object x, nb::object z, double decay, double mu) {
        auto pairs = mercer::partial_tree(trees_of(x), trees_of(z), decay, mu);
        return mercer::python::BoundObjects{std::move(pairs), nb::make_tuple(x, z)};
    });
}
