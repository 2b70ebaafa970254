// Histograms of the labels of nodes and of edges.
#include "graphs/bags.hpp"

namespace mercer {
namespace {

// Labels are numbers already, so they are the columns.
class VertexHistogram final : public GraphDescription {
  public:
    FeatureCounts learn(const Graphs& graphs) override {
        width_ = graphs.label_count;
        return look_up(graphs);
    }
    FeatureCounts look_up(const Graphs& graphs) const override {
        return collect(graphs.count, width_, [&](Index g, std::vector<Count>& row) {
            for (Index v = graphs.starts[g]; v < graphs.starts[g + 1]; ++v)
                if (graphs.node_labels[v] >= 0) row.emplace_back(graphs.node_labels[v], 1.0);
        });
    }

  private:
    Index width_ = 0;
};

class EdgeHistogram final : public GraphDescription {
  public:
    FeatureCounts learn(const Graphs& graphs) override {
        width_ = graphs.arc_label_count;
        return look_up(graphs);
    }
    FeatureCounts look_up(const Graphs& graphs) const override {
        return collect(graphs.count, width_, [&](Index g, std::vector<Count>& row) {
            const Index start = graphs.starts[g];
            for (Index v = start; v < graphs.starts[g + 1]; ++v)
                for (Index a = graphs.arcs[v]; a < graphs.arcs[v + 1]; ++a)
                    if (graphs.neighbours[a] >= v - start && graphs.arc_labels[a] >= 0) // an edge once, a loop too
                        row.emplace_back(graphs.arc_labels[a], 1.0);
        });
    }

  private:
    Index width_ = 0;
};

} // namespace

Recipe vertex_histogram() {
    return [] { return std::make_unique<VertexHistogram>(); };
}
Recipe edge_histogram() {
    return [] { return std::make_unique<EdgeHistogram>(); };
}

} // namespace mercer
