// Weisfeiler-Lehman relabelling: the new label of a node stands for its label and the sorted labels of its neighbours,
// each with the label of the edge if edges differ. Labels are told apart exactly, by the words they stand for.
#include "graphs/bags.hpp"
#include "threads/pool.hpp"

#include <algorithm>

namespace mercer {
namespace {

constexpr Index kNodes = 4096, kGraphs = 128; // of a task

class WeisfeilerLehman final : public GraphDescription {
  public:
    WeisfeilerLehman(int rounds, const Recipe& base) : words_(std::size_t(rounds)) {
        for (int i = 0; i <= rounds; ++i) bases_.push_back(base());
    }

    FeatureCounts learn(const Graphs& graphs) override {
        edges_ = graphs.arc_label_count > 1;
        std::vector<FeatureCounts> parts{bases_[0]->learn(graphs)};
        Graphs relabelled = graphs;
        std::vector<std::int32_t> labels, signatures;
        for (std::size_t i = 0; i < words_.size(); ++i) {
            write(relabelled, signatures);
            std::vector<std::int32_t> next(std::size_t(graphs.nodes()));
            for (Index v = 0; v < graphs.nodes(); ++v) {
                const std::int32_t* word = signatures.data() + offset(graphs, v);
                next[std::size_t(v)] = words_[i].learn(word, word + length(graphs, v));
            }
            labels = std::move(next);
            relabelled.node_labels = labels.data();
            relabelled.label_count = words_[i].size();
            parts.push_back(bases_[i + 1]->learn(relabelled));
        }
        return beside(parts);
    }

    FeatureCounts look_up(const Graphs& graphs) const override {
        std::vector<FeatureCounts> parts{bases_[0]->look_up(graphs)};
        Graphs relabelled = graphs;
        std::vector<std::int32_t> labels, signatures, next;
        for (std::size_t i = 0; i < words_.size(); ++i) {
            write(relabelled, signatures);
            next.resize(std::size_t(graphs.nodes()));
            over_nodes(graphs, [&](Index v) {
                const std::int32_t *word = signatures.data() + offset(graphs, v), *end = word + length(graphs, v);
                const bool known = std::find(word, end, -1) == end;
                next[std::size_t(v)] = known ? words_[i].find(word, end) : -1;
            });
            std::swap(labels, next);
            relabelled.node_labels = labels.data();
            parts.push_back(bases_[i + 1]->look_up(relabelled));
        }
        return beside(parts);
    }

    void words(std::vector<const Words*>& all) const override {
        bases_[0]->words(all);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            all.push_back(&words_[i]);
            bases_[i + 1]->words(all);
        }
    }

  private:
    // Where the word of a node begins among all, and its length.
    Index offset(const Graphs& graphs, Index v) const { return v + (edges_ ? 2 : 1) * graphs.arcs[v]; }
    Index length(const Graphs& graphs, Index v) const { return offset(graphs, v + 1) - offset(graphs, v); }

    static void over_nodes(const Graphs& graphs, const std::function<void(Index)>& task) {
        parallel((graphs.nodes() + kNodes - 1) / kNodes, [&](long t) {
            for (Index v = t * kNodes; v < std::min(graphs.nodes(), (t + 1) * kNodes); ++v) task(v);
        });
    }

    // The words of all nodes, one after the other.
    void write(const Graphs& graphs, std::vector<std::int32_t>& signatures) const {
        signatures.resize(std::size_t(offset(graphs, graphs.nodes())));
        const Index tasks = (graphs.count + kGraphs - 1) / kGraphs;
        parallel(tasks, [&](long t) {
            std::vector<std::pair<std::int32_t, std::int32_t>> around;
            for (Index g = t * kGraphs; g < std::min(graphs.count, (t + 1) * kGraphs); ++g)
                for (Index v = graphs.starts[g]; v < graphs.starts[g + 1]; ++v)
                    write(graphs, graphs.starts[g], v, around, signatures.data() + offset(graphs, v));
        });
    }
    // The word of node v of the graph whose nodes begin at `start`.
    void write(const Graphs& graphs, Index start, Index v, std::vector<std::pair<std::int32_t, std::int32_t>>& around,
               std::int32_t* word) const {
        around.clear();
        bool known = graphs.node_labels[v] >= 0;
        for (Index a = graphs.arcs[v]; a < graphs.arcs[v + 1]; ++a) {
            known &= graphs.arc_labels[a] >= 0;
            around.emplace_back(graphs.node_labels[start + graphs.neighbours[a]], graphs.arc_labels[a]);
        }
        std::sort(around.begin(), around.end());
        *word++ = known ? graphs.node_labels[v] : -1;
        for (const auto& [node, arc] : around) {
            *word++ = node;
            if (edges_) *word++ = arc;
        }
    }

    std::vector<std::unique_ptr<GraphDescription>> bases_; // one per round, the first for the labels as they are
    std::vector<Words> words_;
    bool edges_ = false; // whether edges have different labels
};

} // namespace

Recipe weisfeiler_lehman(int rounds, Recipe base) {
    return [rounds, base = std::move(base)] { return std::make_unique<WeisfeilerLehman>(rounds, base); };
}

} // namespace mercer
