// Pairs of walks are walks of the product graph, whose nodes are pairs of nodes with equal labels. With its adjacency
// matrix W, the kernel is 1'(I - decay W)^-1 1, found by conjugate gradients. If the matrix is not positive definite,
// the sum over lengths diverges: a direction of negative curvature is met, because W and the ones are not negative.
#include "graphs/random_walk.hpp"
#include "kernels/one_by_one.hpp"

#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace mercer {
namespace {

constexpr double kTolerance = 1e-15; // of the residual, relative
using Numbers = std::vector<double>;

double dot(const Numbers& a, const Numbers& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// The product of two graphs, as compressed rows.
struct ProductGraph {
    std::vector<std::int32_t> place; // of a pair of nodes among the nodes of the product, or -1
    std::vector<std::int32_t> first, second;
    std::vector<Index> starts;
    std::vector<std::int32_t> neighbours;

    void build(const Graphs& x, Index i, const Graphs& z, Index j) {
        const Index s = x.starts[i], t = z.starts[j], n = x.size(i), m = z.size(j);
        place.assign(std::size_t(n * m), -1);
        first.clear(), second.clear(), neighbours.clear(), starts.assign(1, 0);
        PollCounter steps;
        for (Index u = 0; u < n; ++u) {
            steps.add(std::size_t(m));
            for (Index v = 0; v < m; ++v)
                if (x.node_labels[s + u] >= 0 && x.node_labels[s + u] == z.node_labels[t + v]) {
                    place[std::size_t(u * m + v)] = std::int32_t(first.size());
                    first.push_back(std::int32_t(u)), second.push_back(std::int32_t(v));
                }
        }
        for (std::size_t p = 0; p < first.size(); ++p) {
            const Index own = s + first[p], other = t + second[p];
            steps.add(1 + std::size_t((x.arcs[own + 1] - x.arcs[own]) * (z.arcs[other + 1] - z.arcs[other])));
            for (Index a = x.arcs[s + first[p]]; a < x.arcs[s + first[p] + 1]; ++a)
                for (Index b = z.arcs[t + second[p]]; b < z.arcs[t + second[p] + 1]; ++b) {
                    const std::int32_t q = place[std::size_t(x.neighbours[a] * m + z.neighbours[b])];
                    if (q >= 0 && x.arc_labels[a] >= 0 && x.arc_labels[a] == z.arc_labels[b]) neighbours.push_back(q);
                }
            starts.push_back(Index(neighbours.size()));
        }
    }
    // out = (I - decay W) v
    void apply(double decay, const Numbers& v, Numbers& out) const {
        for (std::size_t p = 0; p < v.size(); ++p) {
            double sum = 0;
            for (Index a = starts[p]; a < starts[p + 1]; ++a) sum += v[std::size_t(neighbours[std::size_t(a)])];
            out[p] = v[p] - decay * sum;
        }
    }
};

class RandomWalk final : public OneByOne {
  public:
    RandomWalk(const Graphs& x, const Graphs& z, double decay)
        : OneByOne(x.count, z.count), x_(x), z_(z), decay_(decay) {}

  protected:
    double value(Index i, Index j) const override {
        thread_local ProductGraph product;
        // Always in the same order, so that rounding does not depend on which graph is named first.
        if (before(z_, j, x_, i))
            product.build(z_, j, x_, i);
        else
            product.build(x_, i, z_, j);
        return total(product, i, j);
    }

  private:
    static bool before(const Graphs& a, Index i, const Graphs& b, Index j) {
        const Index s = a.starts[i], t = b.starts[j], n = a.size(i), m = b.size(j);
        if (n != m) return n < m;
        const int order = three_way(a.node_labels + s, a.node_labels + s + n, b.node_labels + t);
        if (order) return order < 0;
        for (Index v = 0; v < n; ++v) {
            const Index p = a.arcs[s + v], q = b.arcs[t + v], arcs = a.arcs[s + v + 1] - p;
            if (arcs != b.arcs[t + v + 1] - q) return arcs < b.arcs[t + v + 1] - q;
            if (const int o = three_way(a.neighbours + p, a.neighbours + p + arcs, b.neighbours + q)) return o < 0;
            if (const int o = three_way(a.arc_labels + p, a.arc_labels + p + arcs, b.arc_labels + q)) return o < 0;
        }
        return false;
    }
    static int three_way(const std::int32_t* a, const std::int32_t* end, const std::int32_t* b) {
        for (; a != end; ++a, ++b)
            if (*a != *b) return *a < *b ? -1 : 1;
        return 0;
    }

    double total(const ProductGraph& product, Index i, Index j) const {
        const std::size_t n = product.first.size();
        thread_local Numbers solution, residual, direction, image;
        solution.assign(n, 0.0), residual.assign(n, 1.0), direction.assign(n, 1.0), image.resize(n);
        double square = double(n);
        const double enough = kTolerance * kTolerance * square;
        PollCounter steps;
        for (std::size_t step = 0; square > enough && step <= 2 * n; ++step) {
            steps.add(4 * n + product.neighbours.size());
            product.apply(decay_, direction, image);
            const double curvature = dot(direction, image);
            if (!(curvature > 0)) diverges(i, j);
            const double rate = square / curvature;
            for (std::size_t p = 0; p < n; ++p) solution[p] += rate * direction[p], residual[p] -= rate * image[p];
            const double next = dot(residual, residual), turn = next / square;
            for (std::size_t p = 0; p < n; ++p) direction[p] = residual[p] + turn * direction[p];
            square = next;
        }
        double sum = 0;
        for (const double v : solution) sum += v;
        if (!std::isfinite(sum)) diverges(i, j);
        return sum;
    }

    Index degree(const Graphs& graphs, Index g) const {
        Index most = 1;
        for (Index v = graphs.starts[g]; v < graphs.starts[g + 1]; ++v)
            most = std::max(most, graphs.arcs[v + 1] - graphs.arcs[v]);
        return most;
    }
    [[noreturn]] void diverges(Index i, Index j) const {
        const double safe = 1.0 / double(degree(x_, i) * degree(z_, j));
        throw std::domain_error(
            "the random walks that sample " + std::to_string(i) + " of X and sample " + std::to_string(j) +
            " of Z have in common grow faster than decay=" + std::to_string(decay_) + " shrinks them; a decay below " +
            std::to_string(safe) + " (one by the product of their largest degrees) is small enough for this pair");
    }

    const Graphs x_, z_;
    const double decay_;
};

} // namespace

std::unique_ptr<ObjectPairs<double>> random_walk(const Graphs& x, const Graphs& z, double decay) {
    return std::make_unique<RandomWalk>(x, z, decay);
}

} // namespace mercer
