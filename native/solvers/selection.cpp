#include "solvers/selection.hpp"

#include <algorithm>

namespace mercer {
namespace {

struct Candidate {
    double value; // the larger the better
    Index p;
    bool operator<(const Candidate& other) const { return value != other.value ? value > other.value : p < other.p; }
};

// The best `count` of them, in order.
void keep_best(std::vector<Candidate>& candidates, Index count) {
    if (Index(candidates.size()) > count) {
        std::nth_element(candidates.begin(), candidates.begin() + count, candidates.end());
        candidates.resize(std::size_t(count));
    }
    std::sort(candidates.begin(), candidates.end());
}

} // namespace

const std::vector<Index>& Selection::next(const Problem& problem, const double* a, const Slopes& slopes, Index size) {
    taken_.assign(std::size_t(problem.count), 0);
    const std::vector<Index> before = std::move(chosen_);
    chosen_.clear();
    auto take = [&](Index p) {
        if (taken_[std::size_t(p)] || Index(chosen_.size()) >= size) return;
        taken_[std::size_t(p)] = 1;
        chosen_.push_back(p);
    };
    // Half of the set is for violators, as many that want to rise as want to fall.
    const Index fresh = before.empty() ? size : std::max<Index>(2, size / 2);
    const Index each = std::max<Index>(1, fresh / (2 * problem.groups));
    std::vector<Candidate> up[2], down[2];
    for (Index p = 0; p < problem.count; ++p) {
        const int g = problem.group_of(p);
        const double s = slopes.slope[std::size_t(p)];
        const double rising = s + problem.rise(p, a[p]), falling = s + problem.fall(p, a[p]);
        if (rising > slopes.lowest[g]) up[g].push_back({rising, p});
        if (falling < slopes.highest[g]) down[g].push_back({-falling, p});
    }
    for (int g = 0; g < problem.groups; ++g) {
        keep_best(up[g], each);
        keep_best(down[g], each);
    }
    for (Index k = 0; k < each; ++k)
        for (int g = 0; g < problem.groups; ++g) {
            if (k < Index(up[g].size())) take(up[g][std::size_t(k)].p);
            if (k < Index(down[g].size())) take(down[g][std::size_t(k)].p);
        }
    auto free = [&](Index p) { return a[p] > problem.lower[p] && a[p] < problem.upper[p]; };
    for (Index p : before)
        if (free(p)) take(p);
    for (Index p : before) take(p);
    working_ = chosen_;
    std::sort(working_.begin(), working_.end());
    return working_;
}

} // namespace mercer
