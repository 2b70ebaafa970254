// Descriptions that count words: what their columns, numbering and threads have in common.
#pragma once

#include "graphs/features.hpp"

#include <utility>

namespace mercer {

using Count = std::pair<std::int32_t, double>; // a column and its value

// The rows that `row` fills in, one per graph, in parallel; each is sorted here.
FeatureCounts collect(Index rows, Index width, const std::function<void(Index, std::vector<Count>&)>& row);
// The rows of several, side by side.
FeatureCounts beside(const std::vector<FeatureCounts>& parts);

// The words of one graph and how often each occurs.
class Bag {
  public:
    void clear() { words.clear(), counts.clear(); }
    void add(const std::int32_t* first, const std::int32_t* last) {
        const auto number = std::size_t(words.learn(first, last));
        if (number == counts.size()) counts.push_back(0.0);
        ++counts[number];
    }
    Words words;
    std::vector<double> counts;
};

class WordDescription : public GraphDescription {
  public:
    FeatureCounts learn(const Graphs& graphs) final;
    FeatureCounts look_up(const Graphs& graphs) const final;
    void words(std::vector<const Words*>& all) const final { all.push_back(&words_); }

  protected:
    // The words of graph g; none of them with a label of -1.
    virtual void read(const Graphs& graphs, Index g, Bag& bag) const = 0;

  private:
    Words words_;
};

} // namespace mercer
