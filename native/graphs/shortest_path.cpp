// Shortest paths: a breadth-first search from every node; the word of a pair is (label, label, distance).
#include "graphs/bags.hpp"
#include "threads/pool.hpp"

namespace mercer {
namespace {

class ShortestPath final : public WordDescription {
  protected:
    void read(const Graphs& graphs, Index g, Bag& bag) const override {
        const Index start = graphs.starts[g], n = graphs.size(g);
        thread_local std::vector<std::int32_t> queue, distance;
        queue.resize(std::size_t(n));
        PollCounter steps;
        for (Index source = 0; source < n; ++source) {
            steps.add(std::size_t(n + graphs.arcs[start + n] - graphs.arcs[start]));
            const std::int32_t own = graphs.node_labels[start + source];
            if (own < 0) continue;
            distance.assign(std::size_t(n), -1);
            distance[std::size_t(source)] = 0;
            queue[0] = std::int32_t(source);
            for (std::size_t head = 0, tail = 1; head < tail; ++head) {
                const std::int32_t v = queue[head], step = distance[std::size_t(v)] + 1;
                for (Index a = graphs.arcs[start + v]; a < graphs.arcs[start + v + 1]; ++a) {
                    const std::int32_t u = graphs.neighbours[a];
                    if (distance[std::size_t(u)] >= 0) continue;
                    distance[std::size_t(u)] = step;
                    queue[tail++] = u;
                    const std::int32_t word[3] = {own, graphs.node_labels[start + u], step};
                    if (word[1] >= 0) bag.add(word, word + 3);
                }
            }
        }
    }
};

} // namespace

Recipe shortest_path() {
    return [] { return std::make_unique<ShortestPath>(); };
}

} // namespace mercer
