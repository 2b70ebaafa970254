#include "bind/bind.hpp"
#include "bind/objects.hpp"
#include "graphs/features.hpp"
#include "graphs/random_walk.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>

namespace nb = nanobind;
using namespace nb::literals;
using mercer::Index;
using mercer::python::Array;
using mercer::python::handed_over;
using mercer::python::Made;

namespace {

using Graphs = mercer::python::Owned<mercer::Graphs>;
// Values, columns, where each row begins among them, and the number of columns.
using SparseParts = std::tuple<Made<double>, Made<std::int32_t>, Made<Index>, Index>;

Graphs graphs(Array<Index> starts, Array<Index> arcs, Array<std::int32_t> neighbours, Array<std::int32_t> arc_labels,
              Array<std::int32_t> node_labels, std::int32_t arc_label_count, std::int32_t label_count) {
    if (starts.shape(0) < 1 || arcs.shape(0) < 1) throw std::invalid_argument("offsets begin with 0");
    const std::size_t count = starts.shape(0) - 1, nodes = arcs.shape(0) - 1;
    if (Index(nodes) != starts.data()[count] || node_labels.shape(0) != nodes ||
        neighbours.shape(0) != arc_labels.shape(0) || Index(neighbours.shape(0)) != arcs.data()[nodes])
        throw std::invalid_argument("arrays of graphs have lengths that do not fit together");
    const mercer::Graphs view{Index(count),      starts.data(),      arcs.data(), neighbours.data(),
                              arc_labels.data(), node_labels.data(), label_count, arc_label_count};
    for (std::size_t g = 0; g < count; ++g)
        for (Index a = arcs.data()[starts.data()[g]]; a < arcs.data()[starts.data()[g + 1]]; ++a)
            if (neighbours.data()[a] < 0 || neighbours.data()[a] >= view.size(Index(g)))
                throw std::out_of_range("neighbours");
    return {view, nb::make_tuple(starts, arcs, neighbours, arc_labels, node_labels)};
}

SparseParts rows(mercer::FeatureCounts&& counts) {
    return {handed_over(std::move(counts.values)), handed_over(std::move(counts.columns)),
            handed_over(std::move(counts.starts)), counts.width};
}

// The pairs u <= v of nodes that a square adjacency matrix joins, one per row; none at all if it is not symmetric.
std::optional<nb::ndarray<nb::numpy, Index, nb::ndim<2>>>
edges(const nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>& matrix) {
    const Index n = Index(matrix.shape(0));
    if (Index(matrix.shape(1)) != n) throw std::invalid_argument("the matrix must be square");
    const Index down = matrix.stride(0), right = matrix.stride(1);
    auto found = std::make_unique<std::vector<Index>>();
    found->reserve(std::size_t(4 * n)); // a tree has n - 1 edges, most graphs about as many
    for (Index v = 0; v < n; ++v) {     // what lies above the diagonal is in the cache when it is asked for
        const double *row = matrix.data() + v * down, *column = matrix.data() + v * right;
        for (Index u = 0; u <= v; ++u, row += right, column += down) {
            if (!(*row == *column)) return std::nullopt;
            if (*row != 0) found->push_back(u), found->push_back(v);
        }
    }
    nb::capsule owner(found.get(), [](void* p) noexcept { delete static_cast<std::vector<Index>*>(p); });
    const std::vector<Index>& kept = *found.release();
    return nb::ndarray<nb::numpy, Index, nb::ndim<2>>(const_cast<Index*>(kept.data()), {kept.size() / 2, 2}, owner);
}

struct GraphRecipe {
    mercer::Recipe make;
};

struct GraphFeatures {
    std::unique_ptr<mercer::GraphDescription> description;
};

} // namespace

void bind_graphs(nb::module_& m) {
    nb::class_<Graphs>(m, "Graphs")
        .def(
            "__init__",
            [](Graphs* self, Array<Index> starts, Array<Index> arcs, Array<std::int32_t> neighbours,
               Array<std::int32_t> arc_labels, Array<std::int32_t> node_labels, std::int32_t arc_label_count,
               std::int32_t label_count) {
                new (self)
                    Graphs(graphs(starts, arcs, neighbours, arc_labels, node_labels, arc_label_count, label_count));
            },
            "starts"_a, "arcs"_a, "neighbours"_a, "arc_labels"_a, "node_labels"_a, "arc_label_count"_a,
            "label_count"_a);
    m.def("edges", &edges, "matrix"_a);
    nb::class_<GraphRecipe>(m, "GraphRecipe");
    m.def("vertex_histogram", [] { return GraphRecipe{mercer::vertex_histogram()}; });
    m.def("edge_histogram", [] { return GraphRecipe{mercer::edge_histogram()}; });
    m.def("shortest_path", [] { return GraphRecipe{mercer::shortest_path()}; });
    m.def(
        "graphlet",
        [](int size) {
            if (size < 2 || size > 5) throw std::invalid_argument("graphlets have 2 to 5 nodes");
            return GraphRecipe{mercer::graphlet(size)};
        },
        "size"_a);
    m.def(
        "weisfeiler_lehman",
        [](int rounds, const GraphRecipe& base) { return GraphRecipe{mercer::weisfeiler_lehman(rounds, base.make)}; },
        "rounds"_a, "base"_a);
    nb::class_<GraphFeatures>(m, "GraphFeatures")
        .def(
            "__init__", [](GraphFeatures* self, const GraphRecipe& recipe) { new (self) GraphFeatures{recipe.make()}; },
            "recipe"_a)
        .def(
            "learn",
            [](GraphFeatures& self, const Graphs& graphs) {
                mercer::FeatureCounts counts;
                {
                    nb::gil_scoped_release release;
                    counts = self.description->learn(graphs.view);
                }
                return rows(std::move(counts));
            },
            "graphs"_a)
        .def("words",
             [](const GraphFeatures& self) {
                 std::vector<const mercer::Words*> all;
                 self.description->words(all);
                 std::vector<mercer::python::WordArrays> arrays;
                 for (const mercer::Words* words : all) arrays.push_back(mercer::python::arrays_of(*words));
                 return arrays;
             })
        .def(
            "look_up",
            [](const GraphFeatures& self, const Graphs& graphs) {
                mercer::FeatureCounts counts;
                {
                    nb::gil_scoped_release release;
                    counts = self.description->look_up(graphs.view);
                }
                return rows(std::move(counts));
            },
            "graphs"_a);
    mercer::python::bind_comparison(m, "random_walk", &mercer::random_walk, "decay"_a);
}
