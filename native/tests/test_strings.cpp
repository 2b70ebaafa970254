// Words, their differences and alignments against loops over all pairs of words and all pairs of places.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "strings/alignments.hpp"
#include "strings/differences.hpp"
#include "strings/gaps.hpp"
#include "strings/tally.hpp"
#include "strings/tree.hpp"
#include "strings/words.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <vector>

using namespace mercer;

namespace {

struct Data {
    std::vector<std::int32_t> letters;
    std::vector<Index> offsets{0};
    Sequences view;
    Data(Index count, Index longest, std::int32_t alphabet, unsigned seed) {
        std::mt19937 random(seed);
        for (Index i = 0; i < count; ++i) {
            const Index length = Index(random() % unsigned(longest + 1));
            for (Index p = 0; p < length; ++p)
                letters.push_back(random() % 30 == 0 ? -1 : std::int32_t(random() % unsigned(alphabet)));
            offsets.push_back(Index(letters.size()));
        }
        view = {count, offsets.data(), letters.data(), alphabet};
    }
    // The words of k letters without a -1.
    std::vector<std::vector<std::int32_t>> words(Index i, Index k) const {
        std::vector<std::vector<std::int32_t>> result;
        for (Index p = offsets[std::size_t(i)]; p + k <= offsets[std::size_t(i) + 1]; ++p) {
            std::vector<std::int32_t> word(letters.begin() + p, letters.begin() + p + k);
            if (std::find(word.begin(), word.end(), -1) == word.end()) result.push_back(word);
        }
        return result;
    }
};

Index differing(const std::vector<std::int32_t>& u, const std::vector<std::int32_t>& v) {
    Index d = 0;
    for (std::size_t p = 0; p < u.size(); ++p) d += u[p] != v[p];
    return d;
}

void counts_equal_words() {
    for (Index longest : {3, 40}) { // exact keys, and hashed ones
        check::context = "words up to " + std::to_string(longest);
        const Data data(70, 60, 5, 1);
        const WordCounts counts = count_words(data.view, {2, longest, false, 0});
        for (Index i = 0; i < 70; ++i) {
            std::map<std::vector<std::int32_t>, double> expected;
            for (Index k = 2; k <= longest; ++k)
                for (const auto& word : data.words(i, k)) ++expected[word];
            const auto first = std::size_t(counts.indptr[std::size_t(i)]),
                       last = std::size_t(counts.indptr[std::size_t(i) + 1]);
            CHECK(last - first == expected.size());
            CHECK(std::is_sorted(counts.keys.begin() + std::ptrdiff_t(first),
                                 counts.keys.begin() + std::ptrdiff_t(last)));
            double total = 0, found = 0;
            for (const auto& [word, count] : expected) total += count * count;
            for (std::size_t p = first; p < last; ++p) found += counts.values[p] * counts.values[p];
            CHECK(total == found);
        }
    }
}

void lists_are_what_is_counted() {
    for (Index longest : {3, 40}) { // exact keys, and hashed ones
        check::context = "list of words up to " + std::to_string(longest);
        const Data data(30, 60, 5, 1);
        const WordRule rule{2, longest, false, 0};
        const WordCounts counts = count_words(data.view, rule);
        const std::vector<Key> list = list_words(data.view, rule);
        std::map<std::vector<std::int32_t>, Key> keys; // one for every word, wherever it stands
        std::size_t place = 0;
        for (Index i = 0; i < 30; ++i) {
            std::map<Key, double> times;
            for (Index k = 2; k <= longest; ++k)
                for (const auto& word : data.words(i, k)) {
                    const Key key = list[place++];
                    CHECK(keys.emplace(word, key).first->second == key);
                    ++times[key];
                }
            for (Index p = counts.indptr[std::size_t(i)]; p < counts.indptr[std::size_t(i) + 1]; ++p)
                CHECK(times[counts.keys[std::size_t(p)]] == counts.values[std::size_t(p)]);
        }
        CHECK(place == list.size());
    }
}

void words_near_others() {
    check::context = "words near others";
    const Data data(20, 30, 4, 2);
    const WordCounts plain = count_words(data.view, {4, 4, false, 0}), near = count_words(data.view, {4, 4, false, 2});
    for (Index i = 0; i < 20; ++i) {
        double expected = 0, found = 0;
        for (Index p = plain.indptr[std::size_t(i)]; p < plain.indptr[std::size_t(i) + 1]; ++p)
            expected += plain.values[std::size_t(p)] * (1 + 4 * 3 + 6 * 9);
        for (Index p = near.indptr[std::size_t(i)]; p < near.indptr[std::size_t(i) + 1]; ++p)
            found += near.values[std::size_t(p)];
        CHECK(expected == found);
    }
    CHECK_THROWS(std::invalid_argument, count_words(data.view, {3, 4, false, 1}));
}

void both_strands() {
    check::context = "both strands";
    const std::vector<std::int32_t> forward{0, 1, 2, 2, 3}, backward{0, 1, 1, 2, 3}; // ACGGT and ACCGT
    const Index offsets[] = {0, 5};
    const WordCounts a = count_words({1, offsets, forward.data(), 4}, {3, 3, true, 0});
    const WordCounts b = count_words({1, offsets, backward.data(), 4}, {3, 3, true, 0});
    CHECK(a.keys == b.keys);
    CHECK(a.values == b.values);
}

void vocabularies() {
    for (Key scale : {Key(1), Key(1) << 40}) { // bits, and a table
        check::context = "vocabulary of keys up to " + std::to_string(100 * scale);
        const std::vector<Key> keys{70 * scale, 3 * scale, 70 * scale, 0, 99 * scale};
        const Vocabulary vocabulary(keys.data(), Index(keys.size()));
        CHECK(vocabulary.size() == 4);
        CHECK(vocabulary.find(0) == 0);
        CHECK(vocabulary.find(3 * scale) == 1);
        CHECK(vocabulary.find(70 * scale) == 2);
        CHECK(vocabulary.find(99 * scale) == 3);
        CHECK(vocabulary.find(4 * scale) == -1);
        CHECK(vocabulary.find(~Key(0)) == -1);
    }
    CHECK(Vocabulary(nullptr, 0).find(0) == -1);
}

Bags bags(const WordCounts& c, Index count, std::int32_t alphabet, Index length) {
    return {count, c.indptr.data(), c.keys.data(), c.values.data(), alphabet, length};
}

template <class T> using Binding =
    std::function<std::unique_ptr<Pairs<T>>(const Bags&, const Bags&, const std::vector<double>&)>;

void differences(const char* name, Binding<double> bind, Binding<float> bind_own, std::int32_t alphabet, Index length,
                 const std::vector<double>& weights) {
    check::context = name + (" of " + std::to_string(alphabet) + " letters, words of " + std::to_string(length));
    const Index n = 150, m = 13; // several blocks of rows
    const Data x(n, 40, alphabet, 3), z(m, 50, alphabet, 4);
    const WordCounts a = count_words(x.view, {length, length, false, 0}),
                     b = count_words(z.view, {length, length, false, 0});
    const auto pairs = bind(bags(a, n, alphabet, length), bags(b, m, alphabet, length), weights);
    std::vector<double> out(std::size_t(n * m)), part(std::size_t(2 * (m - 3)));
    for (int threads : {1, 2}) {
        set_thread_count(threads);
        pairs->fill(nullptr, 0, n, 0, m, out.data(), m);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < m; ++j) {
                double expected = 0;
                for (const auto& u : x.words(i, length))
                    for (const auto& v : z.words(j, length))
                        if (differing(u, v) < Index(weights.size())) expected += weights[std::size_t(differing(u, v))];
                CHECK(out[std::size_t(i * m + j)] == expected);
            }
    }
    const Index index[] = {n - 1, 2};
    pairs->fill(index, 0, 2, 3, m, part.data(), m - 3);
    for (Index r = 0; r < 2; ++r)
        for (Index j = 3; j < m; ++j)
            CHECK(part[std::size_t(r * (m - 3) + j - 3)] == out[std::size_t(index[r] * m + j)]);
    const auto own = bind_own(bags(a, n, alphabet, length), bags(a, n, alphabet, length), weights);
    std::vector<float> square(std::size_t(n * n)), again(std::size_t(n * n));
    own->fill_symmetric(square.data(), n);
    own->fill(nullptr, 0, n, 0, n, again.data(), n);
    CHECK(square == again);
    std::vector<double> diagonal(static_cast<std::size_t>(n));
    const Bags both = bags(a, n, alphabet, length);
    bind_differences<double>(both, both, weights)->diagonal(diagonal.data());
    for (Index i = 0; i < n; ++i) CHECK(square[std::size_t(i * n + i)] == float(diagonal[std::size_t(i)]));
}

void differences(std::int32_t alphabet, Index length, const std::vector<double>& weights) {
    differences("tree", bind_tree<double>, bind_tree<float>, alphabet, length, weights);
    differences("gaps", bind_gaps<double>, bind_gaps<float>, alphabet, length, weights);
    differences("either", bind_differences<double>, bind_differences<float>, alphabet, length, weights);
}

void tallies() {
    std::mt19937_64 random(7);
    std::vector<Mask> masks(41);
    for (std::size_t i = 1; i < masks.size(); ++i) // the first is empty
        for (auto& part : masks[i].part) part = random() & random();
    for (const InstructionSet* set : instruction_sets()) {
        if (!set->available()) continue;
        check::context = std::string("tally with ") + set->name;
        std::vector<Mask> planes(14);
        std::vector<int> expected(std::size_t(kTallyRows), 0), found(std::size_t(kTallyRows), 0);
        for (std::ptrdiff_t count : {0, 4, 12, 16, 20, 96, 2000}) {
            std::vector<std::uint32_t> keys(std::size_t(count), 0);
            for (std::size_t i = 0; i + 3 < keys.size(); ++i) keys[i] = std::uint32_t(random() % masks.size());
            set->tally->add(masks.data(), keys.data(), count, planes.data());
            for (std::uint32_t key : keys)
                for (std::size_t r = 0; r < expected.size(); ++r)
                    expected[r] += masks[key].part[r / 64] >> (r % 64) & 1;
        }
        for (std::size_t p = 0; p < planes.size(); ++p)
            for (std::size_t r = 0; r < found.size(); ++r) found[r] += int(planes[p].part[r / 64] >> (r % 64) & 1) << p;
        CHECK(found == expected);
    }
}

// Many rows in one task, words that stand in most of them, some several times; and words that stand in few.
void ways_agree() {
    for (Index length : {4, 9}) {
        check::context = "gaps and tree, words of " + std::to_string(length);
        const Index n = 1100;
        const Data x(n, 30, 3, 6);
        const WordCounts a = count_words(x.view, {length, length, false, 0});
        const Bags own = bags(a, n, 3, length);
        std::vector<float> gaps(std::size_t(n * n)), tree(std::size_t(n * n));
        set_thread_count(1);
        bind_gaps<float>(own, own, {9, 3, 1})->fill_symmetric(gaps.data(), n);
        bind_tree<float>(own, own, {9, 3, 1})->fill_symmetric(tree.data(), n);
        CHECK(gaps == tree);
    }
}

// A word that stands in a sequence more often than an entry of a table can say, and sums beyond 32 bits.
void long_sequences() {
    check::context = "long sequences";
    const std::vector<std::int32_t> letters(140000, 1);
    const std::vector<Index> offsets{0, 140000};
    const WordCounts a = count_words({1, offsets.data(), letters.data(), 2}, {2, 2, false, 0});
    const Bags own = bags(a, 1, 2, 2);
    double value = 0;
    bind_gaps<double>(own, own, {3, 1})->fill(nullptr, 0, 1, 0, 1, &value, 1);
    CHECK(value == 3.0 * 139999 * 139999);
}

void time_is_foreseen() {
    check::context = "times";
    const Index n = 1000;
    const Data x(n, 200, 20, 3);
    const WordCounts a = count_words(x.view, {7, 7, false, 0});
    const Bags own = bags(a, n, 20, 7);
    const std::vector<double> weights{35, 20, 10, 4, 1};
    CHECK(gaps_time(own, own, weights, n, n) < tree_time(own, own, weights, n)); // almost all words stay near
    CHECK(!bind_gaps<double>(own, own, {1e15, 1}));                              // not exact
    CHECK((shares({10, 4, 2}, 3) == std::vector<double>{0, 2, 0, 4}));
}

template <class Rule> void symmetric(const char* name, const Rule& rule) {
    check::context = name;
    const Index n = 30;
    const Data x(n, 25, 4, 5);
    const auto pairs = bind_each<double>(x.view, x.view, rule);
    std::vector<double> whole(std::size_t(n * n)), again(std::size_t(n * n)), diagonal(static_cast<std::size_t>(n));
    set_thread_count(1);
    pairs->fill_symmetric(whole.data(), n);
    set_thread_count(2);
    pairs->fill(nullptr, 0, n, 0, n, again.data(), n);
    CHECK(whole == again);
    pairs->diagonal(diagonal.data());
    for (Index i = 0; i < n; ++i) CHECK(diagonal[std::size_t(i)] == whole[std::size_t(i * n + i)]);
    double one = 0;
    pairs->fill(nullptr, 4, 1, 7, 8, &one, 1);
    CHECK(one == whole[4 * n + 7]);
}

// GATT and GAT: the runs of equal letters, the subsequences of two letters, and long alignments that overflow nothing.
void known_values() {
    check::context = "known values";
    const std::vector<std::int32_t> letters{2, 0, 3, 3, 2, 0, 3};
    const Index offsets[] = {0, 4, 7};
    const Sequences s{2, offsets, letters.data(), 4};
    double value = 0;
    bind_each<double>(s, s, WeightedDegree{{1.0, 10.0, 100.0}, 0})->fill(nullptr, 0, 1, 1, 2, &value, 1);
    CHECK(value == 3 * 1 + 2 * 10 + 1 * 100);
    bind_each<double>(s, s, WeightedDegree{{1.0}, 1})->fill(nullptr, 0, 1, 1, 2, &value, 1);
    CHECK(value == 3 + 1 / 4.0); // T at place 3 of the one, place 2 of the other
    bind_each<double>(s, s, Subsequence{2, 0.5})->fill(nullptr, 0, 1, 1, 2, &value, 1);
    // GA: .25 * .25; AT: (.25 + .125) * .25; GT: (.125 + .0625) * .125
    CHECK_CLOSE(value, 0.0625 + 0.09375 + 0.0234375, 1e-15, 1.0);
    const std::vector<std::int32_t> same(3000, 1);
    const Index ends[] = {0, 3000};
    std::vector<double> score(25, -1.0);
    score[6] = 5;
    bind_each<double>(Sequences{1, ends, same.data(), 4}, Sequences{1, ends, same.data(), 4},
                      LocalAlignment{score, 100, 100, 2.0})
        ->fill(nullptr, 0, 1, 0, 1, &value, 1);
    CHECK_CLOSE(value, 15000, 1e-3, 15000); // nearly all is the alignment of everything
    CHECK_THROWS(std::invalid_argument,
                 bind_each<double>(s, s, LocalAlignment{{1.0}, 1, 1, 1})->fill(nullptr, 0, 1, 0, 1, &value, 1));
}

} // namespace

int main() {
    counts_equal_words();
    lists_are_what_is_counted();
    words_near_others();
    both_strands();
    vocabularies();
    differences(4, 5, {10, 4, 1});
    differences(4, 1, {3});
    differences(20, 3, {7, 2});
    differences(4, 6, {20, 10, 4, 1, 0, 0, 0});
    differences(1, 4, {1, 1});
    differences(4, 18, {5, 1}); // keys of more than 32 bits
    tallies();
    ways_agree();
    long_sequences();
    time_is_foreseen();
    CHECK(!fits_differences(20, 13) && fits_differences(20, 12) && !fits_differences(257, 1) &&
          fits_differences(4, 31));
    symmetric("weighted degree", WeightedDegree{{0.5, 0.3, 0.2}, 3});
    symmetric("subsequence", Subsequence{3, 0.7});
    std::vector<double> score(25, -1.0);
    for (std::size_t c = 0; c < 4; ++c) score[6 * c] = 2;
    symmetric("local alignment", LocalAlignment{score, 2, 0.5, 0.7});
    known_values();
    return check::finish();
}
