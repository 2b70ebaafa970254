#include "solvers/exact_products.hpp"

#include "solvers/product_errors.hpp"
#include "solvers/scan.hpp"
#include "solvers/selection.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

namespace mercer {
namespace {

constexpr std::size_t kMostPart = 4096, kLeastPart = 512, kPartBytes = std::size_t(4) << 20;

// Supporting samples that take no more bytes than this meet each other all at once, so that every entry is used twice.
constexpr std::size_t kWholeBytes = 2 * kPartBytes;

std::vector<Index> part(const std::vector<Index>& of, std::size_t from, std::size_t size) {
    return {of.begin() + std::ptrdiff_t(from), of.begin() + std::ptrdiff_t(std::min(of.size(), from + size))};
}

// sums += K[columns, support] weight. The rows of the matrix are the support, so that the sums run in a fixed order.
void add_products(const Gram<double>& exact, const std::vector<Index>& support, const std::vector<Index>& columns,
                  const double* weight, double* sums) {
    const auto pairs = exact.between(support, columns);
    std::vector<Index> every(support.size());
    std::iota(every.begin(), every.end(), Index(0));
    std::unique_ptr<Pairs<double>::Ready> ready;
    pairs->prepare(every.data(), Index(every.size()), ready);
    const Index n = Index(columns.size()), grain = pairs->grain();
    parallel((n + grain - 1) / grain, [&](long t) {
        std::vector<const double*> at;
        auto add = [&](Index r, Index count, Index j0, Index j1, const double* block, Index stride) {
            poll();
            at.resize(std::size_t(count));
            for (Index i = 0; i < count; ++i) at[std::size_t(i)] = block + i * stride;
            scans<double>().accumulate(count, j1 - j0, at.data(), weight + r, sums + j0);
        };
        pairs->stream(every.data(), Index(every.size()), t * grain, std::min(n, (t + 1) * grain), add, ready.get());
    });
}

} // namespace

ExactProducts::ExactProducts(const Gram<double>& exact, const Problem& problem, const double* a, double* f)
    : exact_(exact), problem_(problem), a_(a), f_(f), known_(std::size_t(problem.count), 0) {
    for (Index p = 0; p < problem.count; ++p)
        if (a[p] != 0) {
            nonzero_.push_back(p);
            supporting_.push_back(problem.sample_of(p));
            weight_.push_back(a[p]);
        }
}

Index ExactProducts::violators(const EntryErrors& entries) {
    if (weight_.empty()) return all();
    const ProductErrors errors(entries, problem_, a_);
    if (errors.largest() == 0) return 0;
    Slopes slopes;
    slopes.find(problem_, a_, f_, [](Index p) { return p; });
    const auto off = [&](Index p) { return known_[std::size_t(p)] ? 0.0 : errors.of(p); };
    // Between what the highest slope is at least, and what the lowest is at most, no slope counts.
    double highest[2], lowest[2];
    for (int g = 0; g < 2; ++g) {
        highest[g] = -std::numeric_limits<double>::infinity();
        lowest[g] = std::numeric_limits<double>::infinity();
    }
    for (Index p = 0; p < problem_.count; ++p) {
        const int g = problem_.group_of(p);
        const double s = slopes.slope[std::size_t(p)];
        highest[g] = std::max(highest[g], s - off(p) + problem_.rise(p, a_[p]));
        lowest[g] = std::min(lowest[g], s + off(p) + problem_.fall(p, a_[p]));
    }
    std::vector<Index> where;
    for (Index p = 0; p < problem_.count; ++p) {
        const int g = problem_.group_of(p);
        const double s = slopes.slope[std::size_t(p)];
        // written so that an unknown (infinite) error selects all
        if (!(s + off(p) + problem_.rise(p, a_[p]) < highest[g] && s - off(p) + problem_.fall(p, a_[p]) > lowest[g]))
            where.push_back(p);
    }
    return compute(where);
}

Index ExactProducts::support() {
    const bool whole = supporting_.size() * exact_.bytes_each() <= kWholeBytes &&
                       std::none_of(nonzero_.begin(), nonzero_.end(), [&](Index p) { return known_[std::size_t(p)]; });
    if (!whole || nonzero_.empty()) return compute(nonzero_);
    std::vector<double> sums(nonzero_.size());
    symmetric_product(*exact_.between(supporting_, supporting_), Index(sums.size()), weight_.data(), 1, sums.data());
    for (std::size_t i = 0; i < sums.size(); ++i) f_[nonzero_[i]] = sums[i], known_[std::size_t(nonzero_[i])] = 1;
    return Index(sums.size());
}

Index ExactProducts::all() {
    std::vector<Index> where(std::size_t(problem_.count));
    std::iota(where.begin(), where.end(), Index(0));
    return compute(where);
}

Index ExactProducts::compute(const std::vector<Index>& where) {
    std::vector<Index> unknown, samples;
    for (Index p : where)
        if (!known_[std::size_t(p)]) {
            unknown.push_back(p);
            samples.push_back(problem_.sample_of(p));
        }
    // In parts, as the samples of both sides are copied and packed in double precision.
    const std::size_t size = std::clamp(kPartBytes / (exact_.bytes_each() + 1), kLeastPart, kMostPart);
    std::vector<double> sums(samples.size(), 0.0);
    for (std::size_t i = 0; i < samples.size(); i += size)
        for (std::size_t j = 0; j < supporting_.size(); j += size)
            add_products(exact_, part(supporting_, j, size), part(samples, i, size), weight_.data() + j,
                         sums.data() + i);
    for (std::size_t i = 0; i < sums.size(); ++i) f_[unknown[i]] = sums[i], known_[std::size_t(unknown[i])] = 1;
    return Index(sums.size());
}

} // namespace mercer
