// Which coefficients to work on next: the most violating ones, and the newest of those worked on before
// (Joachims 1999; Zanni, Serafini and Zanghirati, JMLR 2006).
#pragma once

#include "solvers/problem.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mercer {

// The slopes of all coefficients with what the KKT conditions say about them.
struct Slopes {
    std::vector<double> slope;    // of each coefficient, before l1
    double highest[2], lowest[2]; // per group: upwards and downwards
    double violation = 0;         // the largest highest - lowest

    // f is indexed by column(p).
    template <class Column> void find(const Problem& problem, const double* a, const double* f, Column column) {
        slope.resize(static_cast<std::size_t>(problem.count));
        for (int g = 0; g < 2; ++g) {
            highest[g] = -std::numeric_limits<double>::infinity();
            lowest[g] = std::numeric_limits<double>::infinity();
        }
        double total = 0;
        for (Index p = 0; p < problem.count; ++p) {
            const double s = problem.q[p] - f[column(p)] - problem.ridge[p] * a[p];
            const int g = problem.group_of(p);
            slope[std::size_t(p)] = s;
            total += s;
            highest[g] = std::max(highest[g], s + problem.rise(p, a[p]));
            lowest[g] = std::min(lowest[g], s + problem.fall(p, a[p]));
        }
        violation = std::max({0.0, highest[0] - lowest[0], highest[1] - lowest[1]});
        if (std::isnan(total)) violation = std::numeric_limits<double>::infinity(); // max() does not see NaN
    }
};

class Selection {
  public:
    // The next working set, of at most `size` coefficients, in ascending order: rows that are kept are read from front
    // to back.
    const std::vector<Index>& next(const Problem& problem, const double* a, const Slopes& slopes, Index size);

  private:
    std::vector<Index> chosen_; // the newest first
    std::vector<Index> working_;
    std::vector<std::uint8_t> taken_;
};

} // namespace mercer
