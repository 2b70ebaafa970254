#include "solvers/paired_coefficients.hpp"

#include <algorithm>

namespace mercer {

template <class T> void PairedCoefficients::settle(const Problem& problem, const ProblemMatrix<T>& rows, double* a) {
    if (problem.groups != 2 || rows.size() == problem.count) return;
    if (pairs_.empty()) find(problem, rows);
    double spare = 0;
    for (const auto& [p, r] : pairs_)
        if (const double common = std::min(a[p], -a[r]); common > 0) a[p] -= common, a[r] += common, spare += common;
    for (const auto& [p, r] : pairs_) {
        if (spare <= 0) return;
        const double share = std::min({spare, problem.upper[p] - a[p], a[r] - problem.lower[r]});
        a[p] = std::min(a[p] + share, problem.upper[p]), a[r] = std::max(a[r] - share, problem.lower[r]);
        spare -= share;
    }
}

template <class T> void PairedCoefficients::find(const Problem& problem, const ProblemMatrix<T>& rows) {
    const auto plain = [&](Index p) { return problem.l1[p] == 0 && problem.ridge[p] == 0; };
    std::vector<Index> first(std::size_t(rows.size()), -1);
    for (Index r = 0; r < problem.count; ++r) {
        Index& p = first[std::size_t(rows.column(r))];
        if (p < 0)
            p = r;
        else if (plain(p) && plain(r) && problem.q[p] == problem.q[r] && problem.group_of(p) != problem.group_of(r) &&
                 problem.lower[p] == 0 && problem.upper[r] == 0)
            pairs_.emplace_back(p, r);
    }
    std::stable_sort(pairs_.begin(), pairs_.end(), [&](const auto& s, const auto& t) {
        return rows.diagonal(rows.column(s.first)) < rows.diagonal(rows.column(t.first));
    });
}

template void PairedCoefficients::settle(const Problem&, const ProblemMatrix<float>&, double*);
template void PairedCoefficients::settle(const Problem&, const ProblemMatrix<double>&, double*);

} // namespace mercer
