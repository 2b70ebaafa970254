// Explicit features of graphs: k(G, G') = sum over columns of counts. A description is learnt from some graphs, which
// number the columns; other graphs are then described in the same columns, and what they alone have is left out.
#pragma once

#include "graphs/graphs.hpp"
#include "samples/words.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace mercer {

// Compressed sparse rows, with sorted columns.
struct FeatureCounts {
    std::vector<Index> starts{0};
    std::vector<std::int32_t> columns;
    std::vector<double> values;
    Index width = 0;
};

class GraphDescription {
  public:
    virtual ~GraphDescription() = default;
    virtual FeatureCounts learn(const Graphs& graphs) = 0;
    virtual FeatureCounts look_up(const Graphs& graphs) const = 0;
    // Appends what has been learnt, for those who want to read the columns. Of counted words these, in the order of the
    // columns; of a Weisfeiler-Lehman description those of the base, then for every round what the new labels stand for
    // and those of the base again. Histograms of labels add nothing.
    virtual void words(std::vector<const Words*>&) const {}
};

// Makes a new description that has learnt nothing.
using Recipe = std::function<std::unique_ptr<GraphDescription>()>;

// How many nodes have each label.
Recipe vertex_histogram();
// How many edges have each label.
Recipe edge_histogram();
// How many ordered pairs of nodes have two labels and a distance: Borgwardt and Kriegel (2005).
Recipe shortest_path();
// How many connected induced subgraphs of `size` nodes (2 to 5) there are of each kind, labels included:
// Shervashidze et al. (2009); found by the enumeration of Wernicke (2006).
Recipe graphlet(int size);
// `base` of the graphs and of the graphs with nodes relabelled once .. `rounds` times by their label and the labels of
// their neighbours: Shervashidze et al. (2011).
Recipe weisfeiler_lehman(int rounds, Recipe base);

} // namespace mercer
