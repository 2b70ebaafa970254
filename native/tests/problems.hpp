// Problems to try the solvers on: the duals of the machines, filled in as mercer/problem.py does, with random samples.
#pragma once

#include "gram/gram.hpp"
#include "naive.hpp"
#include "solvers/solve.hpp"

namespace problems {

using mercer::Index;

// A problem with the arrays that hold it.
struct Example {
    std::string name;
    std::vector<double> q, lower, upper, l1, ridge, total;
    std::vector<Index> sample;
    std::vector<std::uint8_t> group;

    Index count() const { return Index(q.size()); }
    mercer::Problem problem() const {
        mercer::Problem p;
        p.count = count();
        p.q = q.data(), p.lower = lower.data(), p.upper = upper.data(), p.l1 = l1.data(), p.ridge = ridge.data();
        p.sample = sample.empty() ? nullptr : sample.data();
        p.group = group.empty() ? nullptr : group.data();
        p.groups = int(total.size());
        return p;
    }
    // A feasible point: what each total asks for is put on the first coefficients of its group.
    std::vector<double> start() const {
        std::vector<double> a(q.size(), 0.0), missing = total;
        for (std::size_t p = 0; p < a.size(); ++p) {
            double& rest = missing[group.empty() ? 0 : group[p]];
            a[p] = std::clamp(rest, lower[p], upper[p]);
            rest -= a[p];
        }
        return a;
    }
    bool feasible(const std::vector<double>& a) const {
        std::vector<double> sums(total.size(), 0.0);
        double mass = 1;
        for (std::size_t p = 0; p < a.size(); ++p) {
            if (!(a[p] >= lower[p] && a[p] <= upper[p])) return false;
            sums[group.empty() ? 0 : group[p]] += a[p];
            mass += std::abs(a[p]);
        }
        for (std::size_t g = 0; g < total.size(); ++g)
            if (!(std::abs(sums[g] - total[g]) <= 1e-11 * mass)) return false;
        return true;
    }
};

inline Example plain(std::string name, const std::vector<double>& q, double lower, double upper) {
    const std::size_t n = q.size();
    const std::vector<double> none(n, 0.0);
    return {
        std::move(name), q, std::vector<double>(n, lower), std::vector<double>(n, upper), none, none, {0.0}, {}, {}};
}
inline Example hinge(const std::vector<double>& y, double C) {
    Example e = plain("hinge", y, 0, 0);
    for (std::size_t p = 0; p < y.size(); ++p) (y[p] > 0 ? e.upper : e.lower)[p] = y[p] * C;
    return e;
}
inline Example squared_hinge(const std::vector<double>& y, double C) {
    Example e = hinge(y, INFINITY);
    e.name = "squared hinge";
    e.ridge.assign(y.size(), 1 / (2 * C));
    return e;
}
inline Example epsilon_insensitive(const std::vector<double>& y, double C, double epsilon) {
    Example e = plain("epsilon-insensitive", y, -C, C);
    e.l1.assign(y.size(), epsilon);
    return e;
}
inline Example one_class(std::size_t n, double nu) {
    Example e = plain("one-class", std::vector<double>(n, 0.0), 0, 1);
    e.total = {nu * double(n)};
    return e;
}
inline Example nu_hinge(const std::vector<double>& y, double nu) {
    Example e = hinge(y, 1);
    e.name = "nu-hinge";
    double fewer = 0;
    for (double label : y) fewer += label > 0;
    fewer = std::min(fewer, double(y.size()) - fewer);
    e.q.assign(y.size(), 0.0);
    e.total = {nu * fewer, -nu * fewer};
    for (double label : y) e.group.push_back(label < 0);
    return e;
}
// Two coefficients for each sample, one that rises from zero and one that falls.
inline Example nu_epsilon(const std::vector<double>& y, double C, double nu) {
    const std::size_t n = y.size();
    std::vector<double> twice(y);
    twice.insert(twice.end(), y.begin(), y.end());
    Example e = plain("nu-epsilon", twice, 0, 0);
    const double half = nu * C * double(n) / 2;
    e.total = {half, -half};
    for (std::size_t p = 0; p < 2 * n; ++p) {
        (p < n ? e.upper : e.lower)[p] = p < n ? C : -C;
        e.group.push_back(p >= n);
        e.sample.push_back(Index(p % n));
    }
    return e;
}

// Random samples with noisy labels (-1 and 1) and noisy values, and the Gaussian matrices among them.
struct Data {
    Index n, d;
    double rate;
    std::vector<double> x, labels, values;

    Data(Index count, Index dimensions, double noise, unsigned seed) : n(count), d(dimensions), rate(1.0 / double(d)) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index k = 0; k < d; ++k) {
                x.push_back(normal(random));
                sum += (k % 2 ? 1 : -1) * x.back() * x.back();
            }
            sum += noise * normal(random);
            values.push_back(std::sin(sum));
            labels.push_back(sum > 0 ? 1 : -1);
        }
        labels[0] = 1, labels[1] = -1;
    }
    mercer::Formula formula() const {
        return {mercer::Reduction::squared_distance,
                {{mercer::Op::affine, -rate, 0.0, {}}, {mercer::Op::exp, 1.0, 0.0, {}}},
                rate};
    }
    template <class T> std::unique_ptr<mercer::Gram<T>> gram() const {
        return mercer::formula_gram<T>(naive::dense(x, n, d), formula(), {}, sizeof(T) == 4 ? 2e-6 : 0.0);
    }
    mercer::Matrices matrices(bool single) const { return {single ? gram<float>() : nullptr, gram<double>()}; }
    std::vector<double> matrix() const { return naive::gaussian(x, n, rate); }

    // One problem of every kind on all samples.
    std::vector<Example> every_kind(double C) const {
        return {hinge(labels, C),         epsilon_insensitive(values, C, 0.1),
                squared_hinge(labels, C), one_class(labels.size(), 0.3),
                nu_hinge(labels, 0.4),    nu_epsilon(values, C, 0.3)};
    }
};

} // namespace problems
