// Every reduction and every step once more, one pair at a time and in long double: slow and obvious.
#pragma once

#include "kernels/formula.hpp"
#include "samples/source.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace naive {

using mercer::Index;
using mercer::Op;
using mercer::Pair;
using Real = long double;

inline const char* name(Pair pair) {
    static const char* names[] = {"dot",  "squared_distance", "squared_direct", "l1",   "linf", "intersection",
                                  "chi2", "chi2_distance",    "jensen_shannon", "equal"};
    return names[static_cast<int>(pair)];
}

inline Real term(Pair pair, Real x, Real z) {
    switch (pair) {
    case Pair::dot: return x * z;
    case Pair::squared_distance:
    case Pair::squared_direct: return (x - z) * (x - z);
    case Pair::l1:
    case Pair::linf: return std::abs(x - z);
    case Pair::intersection: return std::min(x, z);
    case Pair::chi2: return x + z == 0 ? 0 : 2 * x * z / (x + z);
    case Pair::chi2_distance: return x + z == 0 ? 0 : (x - z) * (x - z) / (x + z);
    case Pair::jensen_shannon: {
        const Real a = x == 0 ? 0 : x * std::log1p(z / x), b = z == 0 ? 0 : z * std::log1p(x / z);
        return (a + b) / (2 * std::log(Real(2)));
    }
    case Pair::equal: return x == z ? 1 : 0;
    }
    return 0;
}

// The reduction of two samples, coordinate k of each being x(k) and z(k).
template <class X, class Z> Real reduce(Pair pair, Index depth, X x, Z z) {
    Real total = 0;
    for (Index k = 0; k < depth; ++k) {
        const Real t = term(pair, Real(x(k)), Real(z(k)));
        total = pair == Pair::linf ? std::max(total, t) : total + t;
    }
    return total;
}

// The size of the terms, to which rounding errors are relative.
template <class X, class Z> Real size(Pair pair, Index depth, X x, Z z) {
    Real total = 1;
    for (Index k = 0; k < depth; ++k) total += std::abs(term(pair, Real(x(k)), Real(z(k))));
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
template <class T> std::vector<T> samples(Pair pair, Index count, double density, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    std::normal_distribution<double> normal;
    std::vector<T> values(static_cast<std::size_t>(count));
    for (auto& value : values) {
        const bool there = uniform(random) < density;
        switch (pair) {
        case Pair::intersection:
        case Pair::chi2:
        case Pair::chi2_distance:
        case Pair::jensen_shannon: value = T(there ? 3 * uniform(random) : 0); break;
        case Pair::equal: value = T(there ? 1 + int(3 * uniform(random)) : 0); break;
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

inline std::vector<Pair> pairs() {
    std::vector<Pair> result;
    for (int p = 0; p < mercer::kPairs; ++p) result.push_back(static_cast<Pair>(p));
    return result;
}

} // namespace naive
