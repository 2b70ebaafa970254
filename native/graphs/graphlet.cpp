// Connected induced subgraphs of up to five nodes, each visited once, and a normal form of each that is the same for
// isomorphic ones.
#include "graphs/bags.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace mercer {
namespace {

constexpr int kMost = 5;
// Labels of the nodes in some order, then for every pair of them 0, or 1 + the label of their edge.
using Word = std::array<std::int32_t, kMost + kMost*(kMost - 1) / 2>;

class Graphlet final : public WordDescription {
  public:
    explicit Graphlet(int size) : size_(size) {}

  protected:
    void read(const Graphs& graphs, Index g, Bag& bag) const override {
        Enumeration search(graphs, g, size_, bag);
        search.run();
    }

  private:
    // Wernicke's enumeration: a subgraph grows from its smallest node by larger nodes that were not adjacent before.
    struct Enumeration {
        const Graphs& graphs;
        const Index start, n;
        const int size;
        Bag& bag;
        std::array<std::int32_t, kMost> chosen{};
        std::vector<char> near;   // how many chosen nodes a node is or touches
        Words seen;               // words in the order of discovery ...
        std::vector<Word> normal; // ... and their normal forms

        Enumeration(const Graphs& graphs_, Index g, int size_, Bag& bag_)
            : graphs(graphs_), start(graphs_.starts[g]), n(graphs_.size(g)), size(size_), bag(bag_),
              near(std::size_t(n), 0) {}

        void run() {
            for (std::int32_t v = 0; v < n; ++v) {
                poll();
                extend(0, v, {}, v);
            }
        }
        template <class F> void around(std::int32_t v, F visit) const {
            for (Index a = graphs.arcs[start + v]; a < graphs.arcs[start + v + 1]; ++a)
                if (graphs.neighbours[a] != v) visit(graphs.neighbours[a], graphs.arc_labels[a]);
        }
        void extend(int depth, std::int32_t v, std::vector<std::int32_t> candidates, std::int32_t root) {
            if (graphs.node_labels[start + v] < 0) return; // nothing that contains it is known
            chosen[std::size_t(depth)] = v;
            if (depth + 1 == size) return emit();
            if (depth == 0) ++near[std::size_t(v)];
            around(v, [&](std::int32_t u, std::int32_t) {
                if (u > root && !near[std::size_t(u)]) candidates.push_back(u);
                ++near[std::size_t(u)];
            });
            while (!candidates.empty()) {
                const std::int32_t next = candidates.back();
                candidates.pop_back();
                extend(depth + 1, next, candidates, root);
            }
            around(v, [&](std::int32_t u, std::int32_t) { --near[std::size_t(u)]; });
            if (depth == 0) --near[std::size_t(v)];
        }

        Index length() const { return size + size * (size - 1) / 2; }

        void emit() {
            std::array<std::array<std::int32_t, kMost>, kMost> edge{};
            std::array<std::int32_t, kMost> degree{};
            for (int i = 0; i < size; ++i)
                for (Index a = graphs.arcs[start + chosen[i]]; a < graphs.arcs[start + chosen[i] + 1]; ++a)
                    for (int j = 0; j < size; ++j)
                        if (j != i && graphs.neighbours[a] == chosen[j]) {
                            if (graphs.arc_labels[a] < 0) return;
                            edge[i][j] = 1 + graphs.arc_labels[a];
                            ++degree[i];
                        }
            std::array<int, kMost> order{};
            std::iota(order.begin(), order.begin() + size, 0);
            auto key = [&](int i) { return std::pair(graphs.node_labels[start + chosen[i]], degree[i]); };
            for (int i = 1; i < size; ++i)
                for (int j = i; j > 0 && key(order[j]) < key(order[j - 1]); --j) std::swap(order[j], order[j - 1]);
            auto write = [&] {
                Word word{};
                auto* to = word.data();
                for (int i = 0; i < size; ++i) *to++ = graphs.node_labels[start + chosen[order[i]]];
                for (int i = 0; i < size; ++i)
                    for (int j = i + 1; j < size; ++j) *to++ = edge[order[i]][order[j]];
                return word;
            };
            const Word raw = write();
            const auto number = std::size_t(seen.learn(raw.data(), raw.data() + length()));
            if (number == normal.size()) {
                // The smallest word of all orders that keep nodes sorted by label and degree.
                Word least = raw;
                std::iota(order.begin(), order.begin() + size, 0);
                do {
                    bool sorted = true;
                    for (int i = 0; i + 1 < size; ++i) sorted &= !(key(order[i + 1]) < key(order[i]));
                    if (sorted) least = std::min(least, write());
                } while (std::next_permutation(order.begin(), order.begin() + size));
                normal.push_back(least);
            }
            bag.add(normal[number].data(), normal[number].data() + length());
        }
    };

    int size_;
};

} // namespace

Recipe graphlet(int size) {
    return [size] { return std::make_unique<Graphlet>(size); };
}

} // namespace mercer
