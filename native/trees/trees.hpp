// Ordered trees with labelled nodes, as they lie in the caller's memory: offsets and numbers.
// The nodes of a tree are in postorder: children before their parent, the root last. A label of -1 equals none.
#pragma once

#include "samples/source.hpp"

namespace mercer {

struct Trees {
    Index count = 0;
    const Index* starts = nullptr;          // tree t has the nodes starts[t] .. starts[t + 1] - 1
    const Index* child_starts = nullptr;    // node v has the children child_starts[v] .. child_starts[v + 1] - 1,
    const std::int32_t* children = nullptr; // counted from the first node of the tree
    const std::int32_t* labels = nullptr;

    Index nodes() const { return starts[count]; }
    Index size(Index t) const { return starts[t + 1] - starts[t]; }
    Index width(Index v) const { return child_starts[v + 1] - child_starts[v]; }
};

} // namespace mercer
