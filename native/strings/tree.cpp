#include "strings/tree.hpp"

#include "costs.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <array>

namespace mercer {
namespace {

constexpr Index kRows = 8; // rows that walk the tree together

std::uint8_t* letters_of(Key key, std::int32_t alphabet, Index length, std::uint8_t* out) {
    for (Index p = length; p-- > 0; key /= Key(alphabet)) out[p] = std::uint8_t(key % Key(alphabet));
    return out;
}

// The nodes of one level: the children of node i of the level above are first[i] .. first[i + 1] - 1.
struct Level {
    std::vector<std::int32_t> first;
    std::vector<std::uint8_t> letter;
};

struct WordCount {
    std::int32_t row;
    float count; // exact: a sequence has fewer than 2^24 equal words
};

template <class T> class TreePairs final : public Pairs<T> {
  public:
    TreePairs(const Bags& x, const Bags& z, const std::vector<double>& weights)
        : x_(x), columns_(z.count), most_(Index(weights.size()) - 1), weights_(weights) {
        weights_.push_back(0.0);
        plant(z);
    }

    void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
              Index stride) const override {
        if (rows <= 0 || last_column <= first_column) return;
        parallel((rows + kRows - 1) / kRows, [&](long t) {
            const Index r0 = t * kRows, r1 = std::min(rows, r0 + kRows);
            static thread_local TreeWalk walk;
            std::array<Index, kRows> which;
            for (Index r = r0; r < r1; ++r) which[std::size_t(r - r0)] = index ? index[r] : first_row + r;
            start(walk, which.data(), r1 - r0);
            if (!walk.count.empty() && !postings_.empty()) descend(walk, 0, 0);
            for (Index r = r0; r < r1; ++r)
                for (Index j = first_column; j < last_column; ++j)
                    out[r * stride + (j - first_column)] = T(walk.sums[std::size_t(j * kRows + (r - r0))]);
        });
    }

    void fill_symmetric(T* out, Index stride) const override { fill(nullptr, 0, columns_, 0, columns_, out, stride); }

  private:
    // Words on their way down, at one node: those that may differ in more letters, and those that may not.
    struct Alive {
        std::vector<std::int32_t> open, tight, sorted;
        std::vector<std::uint8_t> differing; // of the open ones
        std::vector<std::int32_t> bucket;    // where the tight ones of each next letter begin in `sorted`
        std::size_t opens = 0, tights = 0;
    };
    struct TreeWalk {
        std::vector<double> sums;  // [column][row]
        std::vector<double> count; // of each word
        std::vector<std::uint8_t> row;
        std::vector<std::vector<std::uint8_t>> letter; // [level][word]
        std::vector<Alive> alive;                      // [level]
        std::vector<double> own;                       // [letter][row]
    };

    void plant(const Bags& z) {
        const Index total = z.indptr[z.count];
        std::vector<Key> words(z.keys, z.keys + total);
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        // Levels: a node begins wherever a prefix of the sorted words changes.
        const std::size_t n = words.size();
        levels_.assign(std::size_t(z.length), {});
        std::vector<std::uint8_t> letters(n * std::size_t(z.length));
        for (std::size_t i = 0; i < n; ++i)
            letters_of(words[i], z.alphabet, z.length, letters.data() + i * std::size_t(z.length));
        std::vector<std::uint8_t> begins(n, 0); // whether a node of the level above begins here
        if (n) begins[0] = 1;
        for (Index p = 0; p < z.length; ++p) {
            Level& level = levels_[std::size_t(p)];
            for (std::size_t i = 0; i < n; ++i) {
                const std::uint8_t c = letters[i * std::size_t(z.length) + std::size_t(p)];
                const bool above = begins[i];
                if (above) level.first.push_back(std::int32_t(level.letter.size()));
                if (above || c != letters[(i - 1) * std::size_t(z.length) + std::size_t(p)]) {
                    level.letter.push_back(c);
                    begins[i] = 1;
                }
            }
            level.first.push_back(std::int32_t(level.letter.size()));
        }
        // Postings: who has each word.
        const Vocabulary vocabulary(words.data(), Index(n));
        std::vector<std::int32_t> place(static_cast<std::size_t>(total));
        vocabulary.find(z.keys, total, place.data());
        starts_.assign(n + 1, 0);
        for (std::int32_t w : place) ++starts_[std::size_t(w) + 1];
        for (std::size_t i = 0; i < n; ++i) starts_[i + 1] += starts_[i];
        postings_.resize(std::size_t(total));
        std::vector<Index> next(starts_.begin(), starts_.end() - 1);
        for (Index i = 0; i < z.count; ++i)
            for (Index p = z.indptr[i]; p < z.indptr[i + 1]; ++p)
                postings_[std::size_t(next[std::size_t(place[std::size_t(p)])]++)] = {std::int32_t(i),
                                                                                      float(z.values[p])};
    }

    void start(TreeWalk& walk, const Index* rows, Index count) const {
        const std::size_t length = std::size_t(x_.length);
        walk.sums.assign(std::size_t(columns_ * kRows), 0.0);
        walk.count.clear();
        walk.row.clear();
        for (Index r = 0; r < count; ++r)
            for (Index p = x_.indptr[rows[r]]; p < x_.indptr[rows[r] + 1]; ++p) {
                walk.count.push_back(x_.values[p]);
                walk.row.push_back(std::uint8_t(r));
            }
        const std::size_t words = walk.count.size();
        walk.letter.assign(length, std::vector<std::uint8_t>(words));
        std::array<std::uint8_t, 64> letters;
        std::size_t w = 0;
        for (Index r = 0; r < count; ++r)
            for (Index p = x_.indptr[rows[r]]; p < x_.indptr[rows[r] + 1]; ++p, ++w) {
                letters_of(x_.keys[p], x_.alphabet, x_.length, letters.data());
                for (std::size_t q = 0; q < length; ++q) walk.letter[q][w] = letters[q];
            }
        walk.alive.resize(length);
        for (Alive& alive : walk.alive) {
            for (auto* list : {&alive.open, &alive.tight, &alive.sorted}) list->resize(words + 1);
            alive.differing.resize(words + 1);
            alive.bucket.resize(std::size_t(x_.alphabet) + 1);
        }
        walk.own.assign(std::size_t(x_.alphabet) * kRows, 0.0);
        Alive& root = walk.alive[0];
        root.opens = root.tights = 0;
        for (std::size_t i = 0; i < words; ++i)
            if (most_ > 0)
                root.open[root.opens] = std::int32_t(i), root.differing[root.opens++] = 0;
            else
                root.tight[root.tights++] = std::int32_t(i);
    }

    // Sorts the tight words of a level by their next letter: each goes on to one child only.
    void sort_tight(TreeWalk& walk, Index level) const {
        Alive& now = walk.alive[std::size_t(level)];
        const std::uint8_t* letter = walk.letter[std::size_t(level)].data();
        std::fill(now.bucket.begin(), now.bucket.end(), 0);
        for (std::size_t i = 0; i < now.tights; ++i) ++now.bucket[std::size_t(letter[now.tight[i]]) + 1];
        for (std::size_t c = 1; c < now.bucket.size(); ++c) now.bucket[c] += now.bucket[c - 1];
        for (std::size_t i = 0; i < now.tights; ++i)
            now.sorted[std::size_t(now.bucket[letter[now.tight[i]]]++)] = now.tight[i];
    }

    void descend(TreeWalk& walk, Index level, std::int32_t node) const {
        const Level& here = levels_[std::size_t(level)];
        if (level + 1 == x_.length) return reach(walk, level, here, node);
        if (level == 2) poll();
        sort_tight(walk, level);
        const Alive& now = walk.alive[std::size_t(level)];
        Alive& next = walk.alive[std::size_t(level) + 1];
        const std::uint8_t* letter = walk.letter[std::size_t(level)].data();
        const auto most = std::uint8_t(most_);
        for (std::int32_t child = here.first[std::size_t(node)]; child < here.first[std::size_t(node) + 1]; ++child) {
            const std::uint8_t c = here.letter[std::size_t(child)];
            std::size_t opens = 0, tights = 0;
            for (std::size_t i = 0; i < now.opens; ++i) {
                const std::int32_t w = now.open[i];
                const auto d = std::uint8_t(now.differing[i] + (letter[w] != c));
                next.open[opens] = w, next.differing[opens] = d; // into both lists, and one of them keeps it
                next.tight[tights] = w;
                opens += d < most;
                tights += d >= most;
            }
            const std::int32_t from = c ? now.bucket[std::size_t(c) - 1] : 0, to = now.bucket[c];
            std::copy(now.sorted.begin() + from, now.sorted.begin() + to, next.tight.begin() + std::ptrdiff_t(tights));
            next.opens = opens, next.tights = tights + std::size_t(to - from);
            if (next.opens + next.tights) descend(walk, level + 1, child);
        }
    }

    // The last letter: all children are leaves.
    void reach(TreeWalk& walk, Index level, const Level& here, std::int32_t node) const {
        const Alive& now = walk.alive[std::size_t(level)];
        const std::uint8_t* letter = walk.letter[std::size_t(level)].data();
        std::array<double, kRows> base{}; // what a word adds to every child, and what more to that of its own letter
        double* own = walk.own.data();
        std::fill(walk.own.begin(), walk.own.end(), 0.0);
        for (std::size_t i = 0; i < now.opens; ++i) {
            const auto w = std::size_t(now.open[i]);
            const double more = weights_[now.differing[i] + std::size_t(1)] * walk.count[w];
            base[walk.row[w]] += more;
            own[letter[w] * kRows + walk.row[w]] += weights_[now.differing[i]] * walk.count[w] - more;
        }
        for (std::size_t i = 0; i < now.tights; ++i) {
            const auto w = std::size_t(now.tight[i]);
            own[letter[w] * kRows + walk.row[w]] += weights_[std::size_t(most_)] * walk.count[w];
        }
        for (std::int32_t leaf = here.first[std::size_t(node)]; leaf < here.first[std::size_t(node) + 1]; ++leaf) {
            std::array<double, kRows> value;
            bool any = false;
            for (Index r = 0; r < kRows; ++r) {
                value[std::size_t(r)] = base[std::size_t(r)] + own[here.letter[std::size_t(leaf)] * kRows + r];
                any |= value[std::size_t(r)] != 0;
            }
            if (!any) continue;
            for (Index p = starts_[std::size_t(leaf)]; p < starts_[std::size_t(leaf) + 1]; ++p) {
                double* sums = walk.sums.data() + postings_[std::size_t(p)].row * kRows;
                const double count = postings_[std::size_t(p)].count;
                for (Index r = 0; r < kRows; ++r) sums[r] += count * value[std::size_t(r)];
            }
        }
    }

    Bags x_;
    Index columns_, most_;
    std::vector<double> weights_;
    std::vector<Level> levels_;
    std::vector<Index> starts_; // of the postings of each leaf
    std::vector<WordCount> postings_;
};

} // namespace

double tree_time(const Bags& x, const Bags& z, const std::vector<double>& weights, Index rows) {
    const auto most = Index(weights.size()) - 1;
    const double words = double(x.indptr[x.count]) / double(std::max<Index>(x.count, 1)) * double(rows);
    const double equal = 1.0 / double(x.alphabet);
    std::vector<double> chance(std::size_t(x.length) + 2, 0.0); // [m]: that m letters of the path differ
    chance[0] = 1;
    double nodes = 1, steps = 0;
    for (Index p = 0; p < x.length; ++p) {
        double alive = 0;
        for (Index d = 0; d <= std::min(p, most); ++d) alive += chance[std::size_t(d)];
        nodes = std::min(nodes * double(x.alphabet), double(z.indptr[z.count]));
        steps += nodes * alive;
        for (Index d = p + 1; d > 0; --d)
            chance[std::size_t(d)] = chance[std::size_t(d)] * equal + chance[std::size_t(d) - 1] * (1 - equal);
        chance[0] *= equal;
    }
    return costs::kWordStep * words * steps;
}

template <class T>
std::unique_ptr<Pairs<T>> bind_tree(const Bags& x, const Bags& z, const std::vector<double>& weights) {
    return std::make_unique<TreePairs<T>>(x, z, weights);
}

template std::unique_ptr<Pairs<float>> bind_tree(const Bags&, const Bags&, const std::vector<double>&);
template std::unique_ptr<Pairs<double>> bind_tree(const Bags&, const Bags&, const std::vector<double>&);

} // namespace mercer
