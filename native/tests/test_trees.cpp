// Kernels of trees against counts made by hand, whichever tree comes first and however many threads there are.
#include "check.hpp"
#include "threads/pool.hpp"
#include "trees/kernels.hpp"

#include <vector>

using mercer::Index;

namespace {

struct Made {
    std::vector<Index> starts{0}, child_starts{0};
    std::vector<std::int32_t> children, labels;

    void node(std::int32_t label, const std::vector<std::int32_t>& below = {}) {
        labels.push_back(label);
        children.insert(children.end(), below.begin(), below.end());
        child_starts.push_back(Index(children.size()));
    }
    void end() { starts.push_back(Index(labels.size())); }
    mercer::Trees trees() const {
        return {Index(starts.size()) - 1, starts.data(), child_starts.data(), children.data(), labels.data()};
    }
};

// Labels: S 0, NP 1, VP 2, he 3, runs 4, sleeps 5.
Made sentences() {
    Made made;
    for (const std::int32_t verb : {4, 5}) { // (S (NP he) (VP verb))
        made.node(3), made.node(1, {0}), made.node(verb), made.node(2, {2}), made.node(0, {1, 3});
        made.end();
    }
    made.node(3), made.node(1, {0}); // (NP he)
    made.end();
    return made;
}

void expect(const mercer::ObjectPairs<double>& pairs, const std::vector<double>& expected) {
    std::vector<double> K(9), whole(9), diagonal(3);
    pairs.fill(nullptr, 0, 3, 0, 3, K.data(), 3);
    pairs.fill_symmetric(whole.data(), 3);
    pairs.diagonal(diagonal.data());
    CHECK(K == whole);
    for (Index i = 0; i < 3; ++i) {
        CHECK(K[i * 4] == diagonal[i]);
        for (Index j = 0; j < 3; ++j) CHECK_CLOSE(K[i * 3 + j], expected[i * 3 + j], 1e-14, 10);
    }
}

void test_kernels() {
    const Made made = sentences();
    expect(*mercer::subset_tree(made.trees(), made.trees(), 1.0), {6, 3, 1, 3, 6, 1, 1, 1, 1});
    // Partial trees with decay = mu = 1: he, (NP), (NP he) ...
    // delta(he) = 1, delta(NP) = 2, delta(VP) = 2 or 1, delta(S) = 1 + NP + VP + NP * VP
    expect(*mercer::partial_tree(made.trees(), made.trees(), 1.0, 1.0), {15, 10, 3, 10, 15, 3, 3, 3, 3});
    mercer::set_thread_count(3);
    expect(*mercer::partial_tree(made.trees(), made.trees(), 1.0, 1.0), {15, 10, 3, 10, 15, 3, 3, 3, 3});
}

void test_gaps() { // (0 1 2 1) with itself: pairs of sequences of children with a gap are weighted by their span
    Made made;
    made.node(1), made.node(2), made.node(1), made.node(0, {0, 1, 2});
    made.end();
    const double d = 0.5, mu = 0.8, leaf = mu * d * d;
    const auto pairs = mercer::partial_tree(made.trees(), made.trees(), d, mu);
    double K = 0;
    pairs->diagonal(&K);
    const double d2 = d * d, d4 = d2 * d2, d6 = d4 * d2;
    // Sequences: 1 . . | . 2 . | . . 1 ; 12 | 21 | 1.1 ; 121. Single ones: 1 with 1 four ways, 2 with 2 one way.
    const double one = 5 * d2 * leaf, two = (2 * d4 + d6) * leaf * leaf, three = d6 * leaf * leaf * leaf;
    CHECK_CLOSE(K, 5 * leaf + mu * (d2 + one + two + three), 1e-14, 1);
}

void test_subtrees() {
    const Made made = sentences();
    mercer::Subtrees subtrees;
    const auto numbers = subtrees.learn(made.trees());
    CHECK((numbers == std::vector<std::int32_t>{-1, 0, -1, 1, 2, -1, 0, -1, 3, 4, -1, 0}));
    CHECK(subtrees.look_up(made.trees()) == numbers);
    const mercer::Words& words = subtrees.words(); // the label of the root, then subtrees by number and leaves below 0
    CHECK(words.size() == subtrees.size());
    const std::vector<std::int32_t> whole(words.begin(2), words.end(2));
    CHECK((whole == std::vector<std::int32_t>{0, 0, 1}));
    CHECK(words.end(0) - words.begin(0) == 2 && words.begin(0)[0] == 1 && words.begin(0)[1] < 0);
    Made other; // (NP sleeps), and (S (NP he) (VP unknown))
    other.node(5), other.node(1, {0}), other.end();
    other.node(3), other.node(1, {0}), other.node(-1), other.node(2, {2}), other.node(0, {1, 3}), other.end();
    CHECK((subtrees.look_up(other.trees()) == std::vector<std::int32_t>{-1, -1, -1, 0, -1, -1, -1}));
}

} // namespace

int main() {
    test_kernels();
    test_gaps();
    test_subtrees();
    return check::finish();
}
