#include "graphs/bags.hpp"

#include "threads/pool.hpp"

#include <algorithm>

namespace mercer {
namespace {

constexpr Index kGraphs = 64; // of a task: its words wait in memory until they have numbers

// Appends a row, given in any order and with repeated columns.
void append(std::vector<Count>& row, FeatureCounts& to) {
    std::sort(row.begin(), row.end(), [](const Count& a, const Count& b) { return a.first < b.first; });
    for (std::size_t p = 0; p < row.size(); ++p)
        if (p && row[p].first == row[p - 1].first) {
            to.values.back() += row[p].second;
        } else {
            to.columns.push_back(row[p].first);
            to.values.push_back(row[p].second);
        }
    to.starts.push_back(Index(to.columns.size()));
    row.clear();
}

void extend(FeatureCounts& to, const FeatureCounts& from) {
    const Index shift = to.starts.back();
    for (std::size_t r = 1; r < from.starts.size(); ++r) to.starts.push_back(shift + from.starts[r]);
    to.columns.insert(to.columns.end(), from.columns.begin(), from.columns.end());
    to.values.insert(to.values.end(), from.values.begin(), from.values.end());
}

} // namespace

FeatureCounts collect(Index rows, Index width, const std::function<void(Index, std::vector<Count>&)>& row) {
    const Index tasks = (rows + kGraphs - 1) / kGraphs;
    std::vector<FeatureCounts> parts{std::size_t(tasks)};
    parallel(tasks, [&](long t) {
        std::vector<Count> memory;
        for (Index r = t * kGraphs; r < std::min(rows, (t + 1) * kGraphs); ++r) {
            poll();
            row(r, memory);
            append(memory, parts[std::size_t(t)]);
        }
    });
    FeatureCounts result;
    for (const FeatureCounts& part : parts) extend(result, part);
    result.width = width;
    return result;
}

FeatureCounts beside(const std::vector<FeatureCounts>& parts) {
    FeatureCounts result;
    for (const FeatureCounts& part : parts) result.width += part.width;
    for (std::size_t r = 0; r + 1 < parts[0].starts.size(); ++r) {
        Index shift = 0;
        for (const FeatureCounts& part : parts) {
            for (Index p = part.starts[r]; p < part.starts[r + 1]; ++p) {
                result.columns.push_back(std::int32_t(shift + part.columns[std::size_t(p)]));
                result.values.push_back(part.values[std::size_t(p)]);
            }
            shift += part.width;
        }
        result.starts.push_back(Index(result.columns.size()));
    }
    return result;
}

// Words are read in parallel and numbered in the order of the graphs, so numbers do not depend on threads.
FeatureCounts WordDescription::learn(const Graphs& graphs) {
    const Index together = kGraphs * std::max(1, thread_count());
    std::vector<Bag> bags{std::size_t(std::min(together, graphs.count))};
    FeatureCounts result;
    std::vector<Count> row;
    for (Index first = 0; first < graphs.count; first += together) {
        const Index last = std::min(graphs.count, first + together);
        parallel(last - first, [&](long i) {
            poll();
            bags[std::size_t(i)].clear();
            read(graphs, first + i, bags[std::size_t(i)]);
        });
        for (Index g = first; g < last; ++g) {
            const Bag& bag = bags[std::size_t(g - first)];
            for (std::int32_t w = 0; w < bag.words.size(); ++w)
                row.emplace_back(words_.learn(bag.words.begin(w), bag.words.end(w)), bag.counts[std::size_t(w)]);
            append(row, result);
        }
    }
    result.width = words_.size();
    return result;
}

FeatureCounts WordDescription::look_up(const Graphs& graphs) const {
    return collect(graphs.count, words_.size(), [&](Index g, std::vector<Count>& row) {
        thread_local Bag bag;
        bag.clear();
        read(graphs, g, bag);
        for (std::int32_t w = 0; w < bag.words.size(); ++w) {
            const std::int32_t column = words_.find(bag.words.begin(w), bag.words.end(w));
            if (column >= 0) row.emplace_back(column, bag.counts[std::size_t(w)]);
        }
    });
}

} // namespace mercer
