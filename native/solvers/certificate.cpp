#include "solvers/certificate.hpp"

#include "solvers/selection.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace mercer {
namespace {

// Of the sum of |a|: what the sum of a may be off by.
constexpr double kOff = 1e-6;

// The coefficient that attains loss_p(u).
double response(const Problem& problem, Index p, double u) {
    const double shrunk = u > 0 ? std::max(u - problem.l1[p], 0.0) : std::min(u + problem.l1[p], 0.0);
    double a = 0;
    if (shrunk != 0)
        a = problem.ridge[p] > 0 ? shrunk / problem.ridge[p]
                                 : std::copysign(std::numeric_limits<double>::infinity(), shrunk);
    return std::clamp(a, problem.lower[p], problem.upper[p]);
}

// What the primal problem charges. No floating-point solution meets a hard constraint (no bound on the coefficient and
// no ridge) exactly, so it is charged like a soft one whose bound is `most`: if no coefficient of the optimum is
// larger, the two problems have the same optimum.
double loss(const Problem& problem, Index p, double u, double most) {
    const double a = std::clamp(response(problem, p, u), -most, most);
    return u * a - problem.l1[p] * std::abs(a) - 0.5 * problem.ridge[p] * a * a;
}

// The same as best_bias() where responses fall from the upper bound to the lower one, each at its own place: as far as
// that is between low and high.
double best_step(const Problem& problem, const double* f, const std::vector<Index>& varying, double fixed, double total,
                 double off, double low, double high) {
    std::vector<std::pair<double, double>> falls; // where, and by how much
    double sum = fixed;
    for (Index p : varying) {
        const double upper = std::min(problem.upper[p], 1e300), lower = std::max(problem.lower[p], -1e300);
        falls.emplace_back(problem.q[p] - f[p], upper - lower);
        sum += upper;
    }
    std::sort(falls.begin(), falls.end());
    auto at = falls.begin();
    // Beyond the last fall there is nothing left to fall.
    auto crossing = [&](double limit) {
        for (; sum > limit && at != falls.end(); ++at) sum -= at->second;
        return sum > limit ? high : at == falls.begin() ? low : std::clamp((at - 1)->first, low, high);
    };
    const double first = crossing(total + off), last = crossing(total - off);
    return first + 0.5 * (last - first);
}

// Where the best responses of a group sum to its total. Their sum falls as b grows, and the slopes bracket b; where it
// equals the total for a while, b is the middle.
double best_bias(const Problem& problem, int group, const double* f, double total, double low, double high) {
    if (low > high) std::swap(low, high);
    if (std::isinf(low)) low = high;
    if (std::isinf(high)) high = low;
    if (std::isinf(low)) return 0;
    // Most responses are the same at both ends of the bracket, and so everywhere in it.
    double mass = std::abs(total), fixed = 0;
    std::vector<Index> varying;
    for (Index p = 0; p < problem.count; ++p) {
        if (problem.group_of(p) != group) continue;
        const double u = problem.q[p] - f[p];
        const double most = response(problem, p, u - low), least = response(problem, p, u - high);
        mass += std::min(std::max(std::abs(most), std::abs(least)), 1e300);
        if (most == least)
            fixed += std::clamp(most, -1e300, 1e300);
        else
            varying.push_back(p);
    }
    if (varying.empty()) return low + 0.5 * (high - low);
    if (std::all_of(varying.begin(), varying.end(),
                    [&](Index p) { return problem.l1[p] == 0 && problem.ridge[p] == 0; }))
        return best_step(problem, f, varying, fixed, total, 1e-12 * mass, low, high);
    auto crossing = [&](double limit, double below, double above) {
        for (int round = 0; round < 200; ++round) {
            const double middle = below + 0.5 * (above - below);
            if (!(middle > below && middle < above)) break;
            double sum = fixed;
            for (Index p : varying)
                sum += std::clamp(response(problem, p, problem.q[p] - f[p] - middle), -1e300, 1e300);
            (sum > limit ? below : above) = middle;
        }
        return below + 0.5 * (above - below);
    };
    const double first = crossing(total + 1e-12 * mass, low, high), last = crossing(total - 1e-12 * mass, first, high);
    return first + 0.5 * (last - first);
}

} // namespace

Certificate certify(const Problem& problem, const double* a, const double* f, const double* total) {
    Certificate result;
    Slopes slopes;
    slopes.find(problem, a, f, [](Index p) { return p; });
    if (problem.groups == 0)
        result.violation = std::max(slopes.highest[0], 0.0) - std::min(slopes.lowest[0], 0.0);
    else
        result.violation = slopes.violation;
    for (int g = 0; g < problem.groups; ++g) {
        result.bias[g] = best_bias(problem, g, f, total[g], slopes.lowest[g], slopes.highest[g]);
        result.primal += result.bias[g] * total[g];
    }
    // Coefficients that do not add up are no solution, however steep or flat the dual is there.
    double sum[2] = {}, mass[2] = {};
    for (Index p = 0; p < problem.count; ++p) {
        sum[problem.group_of(p)] += a[p];
        mass[problem.group_of(p)] += std::abs(a[p]);
    }
    for (int g = 0; g < problem.groups; ++g)
        if (!(std::abs(sum[g] - total[g]) <= kOff * (mass[g] + std::abs(total[g]))))
            result.violation = std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    for (Index p = 0; p < problem.count; ++p)
        if (problem.ridge[p] == 0 && (std::isinf(problem.lower[p]) || std::isinf(problem.upper[p]))) most = 0;
    if (most == 0) {
        for (Index p = 0; p < problem.count; ++p) most = std::max(most, 2 * std::abs(a[p]));
        for (Index p = 0; p < problem.count; ++p)
            for (double bound : {problem.lower[p], problem.upper[p]})
                if (std::isfinite(bound)) most = std::max(most, std::abs(bound));
    }
    for (Index p = 0; p < problem.count; ++p) {
        const double b = problem.groups ? result.bias[problem.group_of(p)] : 0.0;
        result.primal += 0.5 * a[p] * f[p] + loss(problem, p, problem.q[p] - f[p] - b, most);
    }
    result.dual = dual(problem, a, f);
    return result;
}

double dual(const Problem& problem, const double* a, const double* f) {
    double result = 0;
    for (Index p = 0; p < problem.count; ++p)
        result += a[p] * (problem.q[p] - 0.5 * f[p] - 0.5 * problem.ridge[p] * a[p]) - problem.l1[p] * std::abs(a[p]);
    return result;
}

} // namespace mercer
