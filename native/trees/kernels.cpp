// Both kernels are sums of delta(n, m) over the pairs of nodes with the same key: the production of a node, or its
// label. Nodes are sorted by key beforehand, so only such pairs are visited; in postorder, so the deltas of children
// are known.
#include "trees/kernels.hpp"
#include "kernels/one_by_one.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>

namespace mercer {

template <class F> std::vector<std::int32_t> Subtrees::number(const Trees& trees, F number_of) const {
    std::vector<std::int32_t> numbers(std::size_t(trees.nodes()), -1), word;
    for (Index t = 0; t < trees.count; ++t) {
        poll();
        const Index start = trees.starts[t];
        for (Index v = start; v < trees.starts[t + 1]; ++v) {
            if (!trees.width(v)) continue;
            // A child that is a leaf is told from a child that is a fragment by the sign.
            word.assign(1, trees.labels[v]);
            bool known = trees.labels[v] >= 0;
            for (Index c = trees.child_starts[v]; c < trees.child_starts[v + 1]; ++c) {
                const Index child = start + trees.children[c];
                const std::int32_t part = trees.width(child) ? numbers[std::size_t(child)] : trees.labels[child];
                known &= part >= 0;
                word.push_back(trees.width(child) ? part : -1 - part);
            }
            if (known) numbers[std::size_t(v)] = number_of(word);
        }
    }
    return numbers;
}

std::vector<std::int32_t> Subtrees::learn(const Trees& trees) {
    return number(trees, [&](const auto& word) { return words_.learn(word.data(), word.data() + word.size()); });
}

std::vector<std::int32_t> Subtrees::look_up(const Trees& trees) const {
    return number(trees, [&](const auto& word) { return words_.find(word.data(), word.data() + word.size()); });
}

namespace {

constexpr std::size_t kKept = std::size_t(1) << 20; // deltas for which a thread keeps its memory

// More pairs of nodes than may be kept at once.
class TooManyPairs : public std::bad_alloc {
  public:
    TooManyPairs(Index a, Index b, std::size_t pairs)
        : what_("trees of " + std::to_string(a) + " and " + std::to_string(b) + " nodes have " + std::to_string(pairs) +
                " pairs of nodes that match, whose values need " + std::to_string((8 * pairs) >> 20) +
                " MiB; at most " + std::to_string((8 * kMostPairs) >> 20) +
                " MiB are taken. Use smaller trees or more labels, or Subtree, which needs no pairs") {}
    const char* what() const noexcept override { return what_.c_str(); }

  private:
    std::string what_;
};

// Trees with a key for every node, and the nodes of every tree sorted by it; those with a key of -1 come first.
struct Keyed {
    Trees trees;
    std::vector<std::int32_t> keys;
    std::vector<std::int32_t> sorted; // counted from the first node of the tree
    std::vector<std::int32_t> rank;   // of a node among those of its tree with the same key

    Keyed(const Trees& t, std::vector<std::int32_t> k)
        : trees(t), keys(std::move(k)), sorted(keys.size()), rank(keys.size()) {
        for (Index i = 0; i < t.count; ++i) {
            auto *first = sorted.data() + t.starts[i], *last = sorted.data() + t.starts[i + 1];
            const std::int32_t* key = keys.data() + t.starts[i];
            std::iota(first, last, 0);
            std::stable_sort(first, last, [&](std::int32_t a, std::int32_t b) { return key[a] < key[b]; });
            for (auto *p = first, *begin = first; p < last; ++p) {
                if (key[*p] != key[*begin]) begin = p;
                rank[std::size_t(t.starts[i] + *p)] = std::int32_t(p - begin);
            }
        }
    }
};

// The production of every node that is not a leaf: its label and those of its children.
template <class F> std::vector<std::int32_t> productions(const Trees& trees, F number_of) {
    std::vector<std::int32_t> keys(std::size_t(trees.nodes()), -1), word;
    for (Index t = 0; t < trees.count; ++t)
        for (Index v = trees.starts[t]; v < trees.starts[t + 1]; ++v) {
            if (!trees.width(v)) continue;
            word.assign(1, trees.labels[v]);
            for (Index c = trees.child_starts[v]; c < trees.child_starts[v + 1]; ++c)
                word.push_back(trees.labels[trees.starts[t] + trees.children[c]]);
            const bool known = std::find(word.begin(), word.end(), -1) == word.end();
            if (known) keys[std::size_t(v)] = number_of(word);
        }
    return keys;
}

class CommonFragments : public OneByOne {
  public:
    CommonFragments(Keyed x, Keyed z) : OneByOne(x.trees.count, z.trees.count), x_(std::move(x)), z_(std::move(z)) {}

  protected:
    // A node, the nodes of its tree and their keys.
    struct TreeNodes {
        const Trees& trees;
        const std::int32_t* keys; // of the tree
        const std::int32_t* sorted;
        const std::int32_t* rank;
        Index start, size;

        TreeNodes(const Keyed& k, Index t)
            : trees(k.trees), keys(k.keys.data() + k.trees.starts[t]), sorted(k.sorted.data() + k.trees.starts[t]),
              rank(k.rank.data() + k.trees.starts[t]), start(k.trees.starts[t]), size(k.trees.size(t)) {}
        Index width(Index v) const { return trees.width(start + v); }
        const std::int32_t* children(Index v) const { return trees.children + trees.child_starts[start + v]; }
    };
    // The deltas of the pairs of nodes with equal keys, known where both come earlier in postorder: those of a node of
    // the first tree stand together, in the order of its partners.
    struct Deltas {
        const double* values;
        const std::size_t* begin; // of each node of the first tree
        const std::int32_t* rank; // of each node of the second
        double operator()(Index a, Index b) const { return values[begin[a] + std::size_t(rank[b])]; }
    };
    virtual double delta(const TreeNodes& a, Index n, const TreeNodes& b, Index m, const Deltas& deltas) const = 0;
    virtual const char* parameters() const = 0; // what makes large values smaller

    double value(Index i, Index j) const final {
        const TreeNodes x(x_, i), z(z_, j);
        const double sum = before(z, x) ? total(z, x) : total(x, z);
        if (!std::isfinite(sum))
            throw std::overflow_error("k(x, z) of trees of " + std::to_string(x.size) + " and " +
                                      std::to_string(z.size) + " nodes is beyond the range of float64 (1.8e308); use " +
                                      "a smaller " + parameters());
        return sum;
    }

  private:
    // Always in the same order, so that rounding does not depend on which tree is named first.
    static bool before(const TreeNodes& a, const TreeNodes& b) {
        if (a.size != b.size) return a.size < b.size;
        for (Index v = 0; v < a.size; ++v) {
            const std::int32_t p = a.trees.labels[a.start + v], q = b.trees.labels[b.start + v];
            if (p != q) return p < q;
            if (a.width(v) != b.width(v)) return a.width(v) < b.width(v);
        }
        return false;
    }

    double total(const TreeNodes& a, const TreeNodes& b) const {
        thread_local std::vector<double> values;
        thread_local std::vector<std::size_t> begin;
        thread_local std::vector<std::pair<std::int32_t, std::int32_t>> partners; // ranges of b.sorted
        partners.assign(std::size_t(a.size), {0, 0});
        for (Index p = 0, q = 0; p < a.size && q < b.size;) {
            const std::int32_t key = a.keys[a.sorted[p]], other = b.keys[b.sorted[q]];
            if (key < other || key < 0) {
                ++p;
            } else if (other < key) {
                ++q;
            } else {
                Index end = q;
                while (end < b.size && b.keys[b.sorted[end]] == key) ++end;
                for (; p < a.size && a.keys[a.sorted[p]] == key; ++p)
                    partners[std::size_t(a.sorted[p])] = {std::int32_t(q), std::int32_t(end)};
                q = end;
            }
        }
        begin.resize(std::size_t(a.size));
        std::size_t pairs = 0;
        for (std::size_t n = 0; n < begin.size(); ++n) {
            begin[n] = pairs;
            pairs += std::size_t(partners[n].second - partners[n].first);
        }
        if (pairs > kMostPairs) throw TooManyPairs(a.size, b.size, pairs);
        if (values.size() < pairs) values.resize(pairs);
        const Deltas deltas{values.data(), begin.data(), b.rank};
        double sum = 0;
        PollCounter steps;
        for (Index n = 0; n < a.size; ++n) {
            double* value = values.data() + begin[std::size_t(n)];
            for (Index q = partners[std::size_t(n)].first; q < partners[std::size_t(n)].second; ++q, ++value) {
                *value = delta(a, n, b, b.sorted[q], deltas);
                sum += *value;
            }
            steps.add(std::size_t(1 + 8 * (partners[std::size_t(n)].second - partners[std::size_t(n)].first)));
        }
        if (values.size() > kKept) std::vector<double>().swap(values);
        return sum;
    }

    const Keyed x_, z_;
};

class SubsetTree final : public CommonFragments {
  public:
    SubsetTree(Keyed x, Keyed z, double decay) : CommonFragments(std::move(x), std::move(z)), decay_(decay) {}

  protected:
    double delta(const TreeNodes& a, Index n, const TreeNodes& b, Index m, const Deltas& deltas) const override {
        double product = decay_;
        const std::int32_t *c = a.children(n), *d = b.children(m);
        for (Index i = 0; i < a.width(n); ++i)
            if (a.keys[c[i]] >= 0 && a.keys[c[i]] == b.keys[d[i]]) product *= 1 + deltas(c[i], d[i]);
        return product;
    }
    const char* parameters() const override { return "decay"; }

  private:
    double decay_;
};

class PartialTree final : public CommonFragments {
  public:
    PartialTree(Keyed x, Keyed z, double decay, double mu)
        : CommonFragments(std::move(x), std::move(z)), decay_(decay), mu_(mu) {}

  protected:
    // With S(i, j) the sum over all pairs of sequences that end at the children i and j, and
    // D(i, j) = sum over i' <= i, j' <= j of decay^(i - i' + j - j') S(i', j'):
    //   S(i, j) = delta(c_i, d_j) decay^2 (1 + D(i - 1, j - 1))
    double delta(const TreeNodes& a, Index n, const TreeNodes& b, Index m, const Deltas& deltas) const override {
        const double square = decay_ * decay_;
        const Index rows = a.width(n), columns = b.width(m);
        const std::int32_t *c = a.children(n), *d = b.children(m);
        double sum = 0;
        thread_local std::vector<double> above, row; // of D, both with a zero in front
        above.assign(std::size_t(columns + 1), 0.0);
        row.assign(std::size_t(columns + 1), 0.0);
        PollCounter steps;
        for (Index i = 0; i < rows; ++i) {
            steps.add(std::size_t(columns));
            for (Index j = 0; j < columns; ++j) {
                const auto k = std::size_t(j);
                double own = 0;
                if (a.keys[c[i]] >= 0 && a.keys[c[i]] == b.keys[d[j]])
                    own = deltas(c[i], d[j]) * square * (1 + above[k]);
                sum += own;
                row[k + 1] = own + (decay_ * (above[k + 1] + row[k]) - square * above[k]);
            }
            std::swap(above, row);
        }
        return mu_ * (square + sum);
    }
    const char* parameters() const override { return "decay or mu"; }

  private:
    double decay_, mu_;
};

std::vector<std::int32_t> labels(const Trees& trees) { return {trees.labels, trees.labels + trees.nodes()}; }

} // namespace

std::unique_ptr<ObjectPairs<double>> subset_tree(const Trees& x, const Trees& z, double decay) {
    Words words;
    Keyed of_z(z, productions(z, [&](const auto& w) { return words.learn(w.data(), w.data() + w.size()); }));
    Keyed of_x(x, productions(x, [&](const auto& w) { return words.find(w.data(), w.data() + w.size()); }));
    return std::make_unique<SubsetTree>(std::move(of_x), std::move(of_z), decay);
}

std::unique_ptr<ObjectPairs<double>> partial_tree(const Trees& x, const Trees& z, double decay, double mu) {
    return std::make_unique<PartialTree>(Keyed(x, labels(x)), Keyed(z, labels(z)), decay, mu);
}

} // namespace mercer
