// Every reduction, every step and the solution of every problem once more: one pair at a time, in long double or by
// trying everything. Slow and obvious.
#pragma once

#include "kernels/formula.hpp"
#include "kernels/pairs.hpp"
#include "samples/source.hpp"
#include "solvers/problem.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace naive {

using mercer::Index;
using mercer::Op;
using mercer::Reduction;
using Real = long double;

inline const char* name(Reduction reduction) {
    static const char* names[] = {"dot",  "squared_distance", "squared_direct", "l1",   "linf", "intersection",
                                  "chi2", "chi2_distance",    "jensen_shannon", "equal"};
    return names[static_cast<int>(reduction)];
}

inline Real term(Reduction reduction, Real x, Real z) {
    switch (reduction) {
    case Reduction::dot: return x * z;
    case Reduction::squared_distance:
    case Reduction::squared_direct: return (x - z) * (x - z);
    case Reduction::l1:
    case Reduction::linf: return std::abs(x - z);
    case Reduction::intersection: return std::min(x, z);
    case Reduction::chi2: return x + z == 0 ? 0 : 2 * x * z / (x + z);
    case Reduction::chi2_distance: return x + z == 0 ? 0 : (x - z) * (x - z) / (x + z);
    case Reduction::jensen_shannon: {
        const Real a = x == 0 ? 0 : x * std::log1p(z / x), b = z == 0 ? 0 : z * std::log1p(x / z);
        return (a + b) / (2 * std::log(Real(2)));
    }
    case Reduction::equal: return x == z ? 1 : 0;
    }
    return 0;
}

// The reduction of two samples, coordinate k of each being x(k) and z(k).
template <class X, class Z> Real reduce(Reduction reduction, Index depth, X x, Z z) {
    Real total = 0;
    for (Index k = 0; k < depth; ++k) {
        const Real t = term(reduction, Real(x(k)), Real(z(k)));
        total = reduction == Reduction::linf ? std::max(total, t) : total + t;
    }
    return total;
}

// The size of the terms, to which rounding errors are relative.
template <class X, class Z> Real size(Reduction reduction, Index depth, X x, Z z) {
    Real total = 1;
    for (Index k = 0; k < depth; ++k) total += std::abs(term(reduction, Real(x(k)), Real(z(k))));
    return total;
}

inline Real apply(const std::vector<mercer::Step>& steps, Real v) {
    for (const auto& step : steps) {
        const Real a = step.a, u = a * std::sqrt(std::max(v, Real(0)));
        switch (step.op) {
        case Op::affine: v = a * v + Real(step.b); break;
        case Op::integer: v = std::pow(v, a); break;
        case Op::power: v = v == 0 ? Real(0) : std::pow(v, a); break;
        case Op::decay: v = std::exp(-a * std::log1p(Real(step.b) * v)); break;
        case Op::exp: v = std::exp(step.a * v); break;
        case Op::tanh: v = std::tanh(v); break;
        case Op::matern32: v = (1 + u) * std::exp(-u); break;
        case Op::matern52: v = (1 + u + u * u / 3) * std::exp(-u); break;
        case Op::series: {
            Real p = 0;
            for (std::size_t j = step.c.size(); j-- > 0;) p = p * v + Real(step.c[j]);
            v = p;
            break;
        }
        case Op::is_zero: v = v == 0 ? 1 : 0; break;
        }
    }
    return v;
}

// Random samples that suit the reduction: histograms with zeros, whole numbers, or coordinates.
template <class T> std::vector<T> samples(Reduction reduction, Index count, double density, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    std::normal_distribution<double> normal;
    std::vector<T> values(static_cast<std::size_t>(count));
    for (auto& value : values) {
        const bool there = uniform(random) < density;
        switch (reduction) {
        case Reduction::intersection:
        case Reduction::chi2:
        case Reduction::chi2_distance:
        case Reduction::jensen_shannon: value = T(there ? 3 * uniform(random) : 0); break;
        case Reduction::equal: value = T(there ? 1 + int(3 * uniform(random)) : 0); break;
        default: value = T(there ? normal(random) : 0);
        }
    }
    return values;
}

template <class T> mercer::Source<T> dense(const std::vector<T>& values, Index rows, Index columns) {
    mercer::Source<T> source;
    source.rows = rows;
    source.columns = columns;
    source.data = values.data();
    source.row_stride = columns;
    source.column_stride = 1;
    return source;
}

// Compressed rows of a dense array.
template <class T> struct Compressed {
    std::vector<T> values;
    std::vector<std::int32_t> indices;
    std::vector<Index> indptr{0};
    mercer::Source<T> source;

    Compressed(const std::vector<T>& from, Index rows, Index columns) {
        for (Index i = 0; i < rows; ++i) {
            for (Index k = 0; k < columns; ++k)
                if (const T v = from[std::size_t(i * columns + k)]; v != 0) {
                    values.push_back(v);
                    indices.push_back(std::int32_t(k));
                }
            indptr.push_back(Index(values.size()));
        }
        source.rows = rows;
        source.columns = columns;
        source.values = values.data();
        source.indices = indices.data();
        source.indptr = indptr.data();
    }
    Compressed(const Compressed&) = delete;
    Compressed& operator=(const Compressed&) = delete;
};

inline std::vector<Reduction> reductions() {
    std::vector<Reduction> result;
    for (int p = 0; p < mercer::kReductionCount; ++p) result.push_back(static_cast<Reduction>(p));
    return result;
}

// The matrix exp(-rate |x_i - x_j|^2) of n samples.
inline std::vector<double> gaussian(const std::vector<double>& x, Index n, double rate) {
    const Index d = Index(x.size()) / n;
    std::vector<double> matrix(std::size_t(n * n));
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j <= i; ++j) {
            double distance = 0;
            for (Index k = 0; k < d; ++k) {
                const double difference = x[std::size_t(i * d + k)] - x[std::size_t(j * d + k)];
                distance += difference * difference;
            }
            matrix[std::size_t(i * n + j)] = matrix[std::size_t(j * n + i)] = std::exp(-rate * distance);
        }
    return matrix;
}

// K a at the sample of each coefficient; `matrix` is that of all n samples.
inline std::vector<double> product(const mercer::Problem& problem, const std::vector<double>& matrix, Index n,
                                   const double* a) {
    std::vector<double> at(std::size_t(n), 0.0), f(std::size_t(problem.count));
    for (Index p = 0; p < problem.count; ++p) {
        const double* row = matrix.data() + problem.sample_of(p) * n;
        if (a[p] != 0)
            for (Index j = 0; j < n; ++j) at[std::size_t(j)] += a[p] * row[j];
    }
    for (Index p = 0; p < problem.count; ++p) f[std::size_t(p)] = at[std::size_t(problem.sample_of(p))];
    return f;
}

// What the problem minimises.
inline double objective(const mercer::Problem& problem, const double* a, const double* f) {
    Real sum = 0;
    for (Index p = 0; p < problem.count; ++p)
        sum += Real(a[p]) * (f[p] / 2 + problem.ridge[p] * a[p] / 2 - problem.q[p]) + problem.l1[p] * std::abs(a[p]);
    return double(sum);
}

// The largest slope upwards minus the smallest downwards within a group.
inline double violation(const mercer::Problem& problem, const double* a, const double* f) {
    double worst = 0;
    for (int g = 0; g < 2; ++g) {
        double up = -INFINITY, down = INFINITY;
        for (Index p = 0; p < problem.count; ++p) {
            if (problem.group_of(p) != g) continue;
            const double slope = problem.q[p] - f[p] - problem.ridge[p] * a[p];
            if (a[p] < problem.upper[p]) up = std::max(up, slope - (a[p] >= 0 ? problem.l1[p] : -problem.l1[p]));
            if (a[p] > problem.lower[p]) down = std::min(down, slope + (a[p] <= 0 ? problem.l1[p] : -problem.l1[p]));
        }
        worst = std::max(worst, up - down);
    }
    return worst;
}

// Solves the equations m x = v by elimination; false if they are singular.
inline bool eliminate(std::vector<std::vector<Real>> m, std::vector<Real> v, std::vector<Real>& x) {
    const std::size_t n = v.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t best = k;
        for (std::size_t i = k; i < n; ++i)
            if (std::abs(m[i][k]) > std::abs(m[best][k])) best = i;
        if (std::abs(m[best][k]) < 1e-12L) return false;
        std::swap(m[k], m[best]);
        std::swap(v[k], v[best]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const Real factor = m[i][k] / m[k][k];
            for (std::size_t j = k; j < n; ++j) m[i][j] -= factor * m[k][j];
            v[i] -= factor * v[k];
        }
    }
    x = v;
    for (std::size_t k = n; k-- > 0;) {
        for (std::size_t j = k + 1; j < n; ++j) x[k] -= m[k][j] * x[j];
        x[k] /= m[k][k];
    }
    return true;
}

// The minimum of a problem of a few coefficients: each is at a bound, at zero or between, in every combination; those
// between solve linear equations. The best feasible combination is the solution.
inline double minimum(const mercer::Problem& problem, const double* total, const std::vector<double>& matrix, Index n,
                      std::vector<double>& best_a) {
    struct State {
        double low, high, sign; // fixed if low == high; sign: that of l1
    };
    const std::size_t count = std::size_t(problem.count);
    std::vector<std::vector<State>> states(count);
    for (std::size_t p = 0; p < count; ++p) {
        const double low = problem.lower[p], high = problem.upper[p];
        for (double end : {low, high, 0.0})
            if (std::isfinite(end) && end >= low && end <= high) states[p].push_back({end, end, 0});
        if (low < 0) states[p].push_back({low, std::min(high, 0.0), -1});
        if (high > 0) states[p].push_back({std::max(low, 0.0), high, 1});
    }
    double best = INFINITY;
    std::vector<std::size_t> state(count, 0);
    for (;;) {
        std::vector<double> a(count, 0.0);
        std::vector<std::size_t> free;
        for (std::size_t p = 0; p < count; ++p) {
            const State& s = states[p][state[p]];
            if (s.low == s.high)
                a[p] = s.low;
            else
                free.push_back(p);
        }
        // Slopes of the free ones equal their group's b, and sums equal the totals.
        const std::vector<double> f = product(problem, matrix, n, a.data());
        const std::size_t size = free.size(), groups = std::size_t(problem.groups);
        std::vector<std::vector<Real>> m(size + groups, std::vector<Real>(size + groups, 0));
        std::vector<Real> v(size + groups, 0), x;
        for (std::size_t i = 0; i < size; ++i) {
            const auto p = Index(free[i]);
            const auto g = std::size_t(problem.group_of(p));
            for (std::size_t j = 0; j < size; ++j)
                m[i][j] = matrix[std::size_t(problem.sample_of(p) * n + problem.sample_of(Index(free[j])))];
            m[i][i] += problem.ridge[p];
            m[i][size + g] = m[size + g][i] = 1;
            v[i] = problem.q[p] - f[free[i]] - problem.l1[p] * states[free[i]][state[free[i]]].sign;
        }
        for (std::size_t g = 0; g < groups; ++g) {
            v[size + g] = total[g];
            bool any = false;
            for (std::size_t p = 0; p < count; ++p)
                if (std::size_t(problem.group_of(Index(p))) == g) v[size + g] -= a[p];
            for (std::size_t p : free) any = any || std::size_t(problem.group_of(Index(p))) == g;
            if (!any) m[size + g][size + g] = 1; // then b must come out as zero: nothing is missing
        }
        bool feasible = eliminate(m, v, x);
        for (std::size_t g = 0; feasible && g < groups; ++g)
            if (m[size + g][size + g] == 1) feasible = std::abs(x[size + g]) < 1e-12L;
        for (std::size_t i = 0; feasible && i < size; ++i) {
            const State& s = states[free[i]][state[free[i]]];
            a[free[i]] = double(x[i]);
            feasible = x[i] >= s.low - 1e-12L && x[i] <= s.high + 1e-12L;
        }
        if (feasible) {
            const double value = objective(problem, a.data(), product(problem, matrix, n, a.data()).data());
            if (value < best) best = value, best_a = a;
        }
        std::size_t p = 0;
        while (p < count && ++state[p] == states[p].size()) state[p++] = 0;
        if (p == count) return best;
    }
}

// Sequential minimal optimisation on the most violating pair, with the whole matrix in memory.
inline void smo(const mercer::Problem& problem, const std::vector<double>& matrix, Index n, double tol, double* a) {
    std::vector<double> f = product(problem, matrix, n, a);
    auto entry = [&](Index p, Index r) { return matrix[std::size_t(problem.sample_of(p) * n + problem.sample_of(r))]; };
    for (;;) {
        Index i = -1, j = -1;
        double worst = tol;
        for (int g = 0; g < problem.groups; ++g) {
            Index up = -1, down = -1;
            double most = -INFINITY, least = INFINITY;
            for (Index p = 0; p < problem.count; ++p) {
                if (problem.group_of(p) != g) continue;
                const double slope = problem.q[p] - f[std::size_t(p)] - problem.ridge[p] * a[p];
                if (const double s = slope + problem.rise(p, a[p]); s > most) most = s, up = p;
                if (const double s = slope + problem.fall(p, a[p]); s < least) least = s, down = p;
            }
            if (most - least > worst) worst = most - least, i = up, j = down;
        }
        if (i < 0) return;
        const double curvature = entry(i, i) + entry(j, j) - 2 * entry(i, j) + problem.ridge[i] + problem.ridge[j];
        const double t =
            std::min({worst / std::max(curvature, 1e-12), problem.room_above(i, a[i]), problem.room_below(j, a[j])});
        a[i] = std::min(a[i] + t, problem.upper[i]);
        a[j] = std::max(a[j] - t, problem.lower[j]);
        for (Index p = 0; p < problem.count; ++p) f[std::size_t(p)] += t * (entry(i, p) - entry(j, p));
    }
}

// Pairs of sparse rows through lists, even where panels would be faster.
template <class T> auto listed(const mercer::Source<T>& x, const mercer::Source<T>& z, const mercer::Formula& formula,
                               const mercer::Frame& frame) {
    return mercer::bind(x, z, formula, frame, mercer::listed_layout(x, z, formula));
}

} // namespace naive
