#include "solvers/problem.hpp"

#include <algorithm>
#include <cmath>

namespace mercer {

bool make_feasible(const Problem& problem, const double* total, double* a) {
    double missing[2] = {}, mass[2] = {};
    bool moved = false;
    for (int g = 0; g < problem.groups; ++g) missing[g] = total[g];
    for (Index p = 0; p < problem.count; ++p) {
        const double before = a[p];
        a[p] = std::clamp(before, problem.lower[p], problem.upper[p]);
        moved |= a[p] != before;
        missing[problem.group_of(p)] -= a[p];
        mass[problem.group_of(p)] += std::abs(a[p]);
    }
    // Rounding stays: to move it onto a coefficient could take that off its bound.
    for (int g = 0; g < 2; ++g)
        if (std::abs(missing[g]) <= 1e-12 * mass[g]) missing[g] = 0;
    for (Index p = 0; p < problem.count; ++p) {
        double& rest = missing[problem.group_of(p)];
        if (rest == 0) continue;
        const double before = a[p];
        a[p] = std::clamp(before + rest, problem.lower[p], problem.upper[p]);
        rest = a[p] == before + rest ? 0 : rest - (a[p] - before);
        moved |= a[p] != before;
    }
    return moved;
}

} // namespace mercer
