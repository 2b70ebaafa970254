// Undirected graphs with labelled nodes and edges, as they lie in the caller's memory: offsets and numbers.
// Labels are numbers; -1 is a label that nothing equals.
#pragma once

#include "samples/source.hpp"

namespace mercer {

struct Graphs {
    Index count = 0;
    const Index* starts = nullptr;             // graph g has the nodes starts[g] .. starts[g + 1] - 1
    const Index* arcs = nullptr;               // node v has the arcs arcs[v] .. arcs[v + 1] - 1; an edge is two arcs
    const std::int32_t* neighbours = nullptr;  // where an arc leads, counted from the first node of its graph
    const std::int32_t* arc_labels = nullptr;  // the same for both arcs of an edge
    const std::int32_t* node_labels = nullptr; // below label_count
    std::int32_t label_count = 0;
    std::int32_t arc_label_count = 0;

    Index nodes() const { return starts[count]; }
    Index size(Index g) const { return starts[g + 1] - starts[g]; }
};

} // namespace mercer
