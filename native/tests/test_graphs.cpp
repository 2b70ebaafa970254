// Features of graphs against counts made by hand, learnt and looked up; random walks against their series; threads.
#include "check.hpp"
#include "graphs/features.hpp"
#include "graphs/random_walk.hpp"
#include "samples/words.hpp"
#include "threads/pool.hpp"

#include <random>
#include <stdexcept>
#include <vector>

using mercer::Index;

namespace {

struct Made {
    std::vector<Index> starts{0}, arcs{0};
    std::vector<std::int32_t> neighbours, arc_labels, labels;
    std::int32_t label_count = 0;

    void add(const std::vector<std::vector<std::int32_t>>& around, const std::vector<std::int32_t>& own) {
        for (const auto& others : around) {
            for (const std::int32_t u : others) neighbours.push_back(u), arc_labels.push_back(0);
            arcs.push_back(Index(neighbours.size()));
        }
        labels.insert(labels.end(), own.begin(), own.end());
        for (const std::int32_t l : own) label_count = std::max(label_count, l + 1);
        starts.push_back(Index(labels.size()));
    }
    mercer::Graphs graphs() const {
        return {Index(starts.size()) - 1, starts.data(), arcs.data(), neighbours.data(),
                arc_labels.data(),        labels.data(), label_count, 1};
    }
};

double dot(const mercer::FeatureCounts& a, Index i, const mercer::FeatureCounts& b, Index j) {
    double sum = 0;
    for (Index p = a.starts[i]; p < a.starts[i + 1]; ++p)
        for (Index q = b.starts[j]; q < b.starts[j + 1]; ++q)
            if (a.columns[p] == b.columns[q]) sum += a.values[p] * b.values[q];
    return sum;
}

Made small() { // a triangle 0 0 1, and a path 0 1 2 whose label 2 only it has
    Made made;
    made.add({{1, 2}, {0, 2}, {0, 1}}, {0, 0, 1});
    made.add({{1}, {0, 2}, {1}}, {0, 1, 2});
    return made;
}

void test_words() {
    mercer::Words words;
    std::vector<std::int32_t> word;
    for (int round = 0; round < 2; ++round)
        for (std::int32_t i = 0; i < 1000; ++i) {
            word = {i % 7, i, -i};
            word.resize(std::size_t(1 + i % 3));
            const auto before = words.size(), found = words.find(word.data(), word.data() + word.size());
            const auto number = words.learn(word.data(), word.data() + word.size());
            CHECK(round == 0 || words.size() == before);
            CHECK(found == -1 ? number == before : number == found);
            CHECK(std::equal(word.begin(), word.end(), words.begin(number), words.end(number)));
        }
    words.clear();
    CHECK(words.size() == 0 && words.find(word.data(), word.data() + 1) == -1);
}

void test_features() {
    const Made made = small();
    const auto check = [&](const mercer::Recipe& recipe, double a, double b, double c) {
        auto description = recipe();
        const mercer::FeatureCounts counts = description->learn(made.graphs());
        CHECK_CLOSE(dot(counts, 0, counts, 0), a, 0, 1);
        CHECK_CLOSE(dot(counts, 0, counts, 1), b, 0, 1);
        CHECK_CLOSE(dot(counts, 1, counts, 1), c, 0, 1);
        const mercer::FeatureCounts again = description->look_up(made.graphs());
        CHECK(again.columns == counts.columns && again.values == counts.values && again.starts == counts.starts);
        CHECK(again.width == counts.width);
    };
    check(mercer::vertex_histogram(), 5, 3, 3);
    check(mercer::edge_histogram(), 9, 6, 4);
    check(mercer::shortest_path(), 12, 4, 6); // ordered pairs: 00 twice, 01 and 10 twice each; 01 10 12 21, 02 20 at 2
    check(mercer::graphlet(2), 5, 2, 2);
    check(mercer::graphlet(3), 1, 0, 1);
    check(mercer::weisfeiler_lehman(1, mercer::vertex_histogram()), 10, 3, 6);
    check(mercer::weisfeiler_lehman(0, mercer::shortest_path()), 12, 4, 6);
}

void test_words_of_columns() {
    const Made made = small();
    auto description = mercer::weisfeiler_lehman(2, mercer::shortest_path())();
    const mercer::FeatureCounts counts = description->learn(made.graphs());
    std::vector<const mercer::Words*> words;
    description->words(words);
    CHECK(words.size() == 5); // paths, labels of round 1, paths, labels of round 2, paths
    CHECK(words[0]->size() + words[2]->size() + words[4]->size() == counts.width);
    for (int round : {0, 1})
        for (std::int32_t i = 0; i < words[std::size_t(2 * round + 2)]->size(); ++i) {
            const std::int32_t* path = words[std::size_t(2 * round + 2)]->begin(i);
            CHECK(path[0] < words[std::size_t(2 * round + 1)]->size() && path[2] >= 1);
        }
}

void test_unseen() {
    Made first = small(), other;
    other.add({{1}, {0}}, {0, -1}); // an edge whose other end has a label that is not known
    for (const auto& recipe : {mercer::vertex_histogram(), mercer::shortest_path(), mercer::graphlet(2),
                               mercer::weisfeiler_lehman(2, mercer::vertex_histogram())}) {
        auto description = recipe();
        const mercer::FeatureCounts known = description->learn(first.graphs());
        const mercer::FeatureCounts counts = description->look_up(other.graphs());
        CHECK(counts.width == known.width);
        CHECK(counts.starts.size() == 2 && counts.columns.size() <= 1); // only the histogram of the node 0
    }
}

void test_threads() {
    std::mt19937 random(1);
    Made made;
    for (int g = 0; g < 300; ++g) {
        const std::int32_t n = 3 + std::int32_t(random() % 12);
        std::vector<std::vector<std::int32_t>> around{std::size_t(n)};
        std::vector<std::int32_t> labels;
        for (std::int32_t v = 0; v < n; ++v) {
            labels.push_back(std::int32_t(random() % 4));
            if (v) {
                const auto u = std::int32_t(random() % std::uint32_t(v));
                around[std::size_t(u)].push_back(v), around[std::size_t(v)].push_back(u);
            }
        }
        made.add(around, labels);
    }
    for (const auto& recipe : {mercer::weisfeiler_lehman(3, mercer::vertex_histogram()), mercer::shortest_path(),
                               mercer::graphlet(4), mercer::weisfeiler_lehman(1, mercer::shortest_path())}) {
        mercer::set_thread_count(1);
        const mercer::FeatureCounts one = recipe()->learn(made.graphs());
        mercer::set_thread_count(3);
        const mercer::FeatureCounts three = recipe()->learn(made.graphs());
        CHECK(one.columns == three.columns && one.values == three.values && one.starts == three.starts);
    }
}

void test_random_walk() {
    const Made made = small();
    const double decay = 0.05;
    const auto pairs = mercer::random_walk(made.graphs(), made.graphs(), decay);
    std::vector<double> K(4), diagonal(2);
    pairs->fill_symmetric(K.data(), 2);
    pairs->diagonal(diagonal.data());
    CHECK(K[1] == K[2] && K[0] == diagonal[0] && K[3] == diagonal[1]);
    // The product of the path with itself is the path: 1'(I - decay A)^-1 1 of a path of three nodes.
    const double end = (1 + decay) / (1 - 2 * decay * decay), middle = 1 + 2 * decay * end;
    CHECK_CLOSE(K[3], 2 * end + middle, 1e-14, 1);
    const auto wild = mercer::random_walk(made.graphs(), made.graphs(), 0.9);
    CHECK_THROWS(std::domain_error, wild->fill_symmetric(K.data(), 2));
}

} // namespace

int main() {
    test_words();
    test_features();
    test_words_of_columns();
    test_unseen();
    test_threads();
    test_random_walk();
    return check::finish();
}
