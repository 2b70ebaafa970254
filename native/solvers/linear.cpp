#include "solvers/linear.hpp"

#include "kernels/isa.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace mercer {

#define MERCER_DECLARE(name)                                                                                           \
    namespace name {                                                                                                   \
    extern const linear::Loops<float> linear32;                                                                        \
    extern const linear::Loops<double> linear64;                                                                       \
    }
MERCER_DECLARE(baseline)
#if defined(MERCER_X86)
MERCER_DECLARE(avx2)
MERCER_DECLARE(avx512)
#endif

namespace linear {

#define MERCER_CHOOSE(table)                                                                                           \
    if (std::strcmp(name, "avx512") == 0) return avx512::table;                                                        \
    if (std::strcmp(name, "avx2") == 0) return avx2::table;
template <> const Loops<float>& loops<float>() {
    [[maybe_unused]] const char* name = instruction_set().name;
#if defined(MERCER_X86)
    MERCER_CHOOSE(linear32)
#endif
    return baseline::linear32;
}
template <> const Loops<double>& loops<double>() {
    [[maybe_unused]] const char* name = instruction_set().name;
#if defined(MERCER_X86)
    MERCER_CHOOSE(linear64)
#endif
    return baseline::linear64;
}

double Term::loss(double u, double l1, double most) const {
    if (ridge > 0) {
        const double a = response(u, l1);
        return u * a - l1 * std::abs(a) - 0.5 * ridge * a * a;
    }
    const double excess = std::abs(u) - l1, end = u > 0 ? upper : lower;
    return excess > 0 && end != 0 ? excess * std::min(std::abs(end), most) : 0.0;
}

template <class T> ExtendedRows<T>::ExtendedRows(const Source<T>& source, double constant)
    : source_(source), constant_(constant), loops_(loops<T>()), squares_(std::size_t(source.rows)) {
    mercer::squares(source, {}, squares_.data());
    for (double& s : squares_) largest_ = std::max(largest_, s += constant * constant);
}

Index parts_of(double work, double width) {
    return std::clamp<Index>(Index(work / std::max(50000.0, 4 * width)), 1, kParts);
}

void over_parts(Index parts, Index count, const std::function<void(Index part, Index begin, Index end)>& task) {
    parallel(parts, [&](long part) {
        const Index begin = count * part / parts, end = count * (part + 1) / parts;
        if (begin < end) task(part, begin, end);
    });
    poll();
}

template <class T> void products(const ExtendedRows<T>& rows, const Vector& w, Vector& f) {
    f.assign(std::size_t(rows.count()), 0.0);
    if (std::all_of(w.begin(), w.end(), [](double v) { return v == 0; })) return;
    over_parts(parts_of(rows.work()), rows.count(),
               [&](Index, Index begin, Index end) { rows.dots(begin, end, w.data(), f.data()); });
}

template <class T> void combine(const ExtendedRows<T>& rows, const Vector& a, Vector& partial, Vector& w) {
    const std::size_t d = std::size_t(rows.width());
    const std::size_t parts = std::size_t(parts_of(rows.work(), double(d)));
    partial.assign(parts * d, 0.0);
    over_parts(Index(parts), rows.count(), [&](Index part, Index begin, Index end) {
        rows.adds(begin, end, a.data(), partial.data() + std::size_t(part) * d);
    });
    w.assign(d, 0.0);
    for (std::size_t part = 0; part < parts; ++part)
        for (std::size_t k = 0; k < d; ++k) w[k] += partial[part * d + k];
}

template <class T> void certify(const ExtendedRows<T>& rows, const LinearProblem& problem, const Options& options,
                                LinearSolution& solution) {
    const double l1 = problem.l1;
    Vector &w = solution.weights, &a = solution.coefficients;
    a.resize(std::size_t(rows.count()));
    Vector dual_weights, partial, f, own;
    combine(rows, a, partial, dual_weights);
    if (w.empty()) w = dual_weights;
    products(rows, w, f);
    if (dual_weights != w) products(rows, dual_weights, own);
    const Vector& dual_f = own.empty() ? f : own;
    double most = 0;
    for (double ai : a) most = std::max(most, 2 * std::abs(ai));
    const bool hard = std::any_of(problem.terms.begin(), problem.terms.end(), [](const Term& t) { return t.hard(); });
    struct Sums {
        double loss = 0, dual = 0, rise = 0, fall = 0;
    } parts[kParts];
    over_parts(parts_of(10 * double(rows.count())), rows.count(), [&](Index part, Index begin, Index end) {
        Sums& sum = parts[part];
        for (std::size_t i = std::size_t(begin); i < std::size_t(end); ++i) {
            const Term& t = problem.terms[i];
            const double ai = a[i];
            if (!(t.lower < t.upper)) continue;
            const double slope = t.q - dual_f[i] - t.ridge * ai;
            sum.loss += t.loss(t.q - f[i], l1, t.hard() ? most : kInfinity);
            sum.dual += ai * t.q - l1 * std::abs(ai) - 0.5 * t.ridge * ai * ai;
            sum.rise = std::max(sum.rise, t.rise(ai, slope, l1));
            sum.fall = std::min(sum.fall, t.fall(ai, slope, l1));
        }
    });
    Sums total;
    for (const Sums& s : parts) {
        total.loss += s.loss;
        total.dual += s.dual;
        total.rise = std::max(total.rise, s.rise);
        total.fall = std::min(total.fall, s.fall);
    }
    double norm = 0, dual_norm = 0;
    for (std::size_t k = 0; k < w.size(); ++k) {
        norm += w[k] * w[k];
        dual_norm += dual_weights[k] * dual_weights[k];
    }
    solution.primal = 0.5 * norm + total.loss;
    solution.dual = total.dual - 0.5 * dual_norm;
    solution.violation = total.rise - total.fall;
    if (std::isnan(solution.primal) || std::isnan(solution.dual)) solution.violation = kInfinity; // beyond float64
    // Where the numbers are so large that rounding alone exceeds tol, a gap of nothing is proof enough, unless it is
    // that of other constraints.
    const double gap = solution.primal - solution.dual;
    const bool closed = !hard && gap <= 1e-12 * std::abs(solution.primal);
    solution.converged = std::isfinite(gap) && (solution.violation <= options.tol || closed);
    solution.contradiction =
        hard && !solution.converged &&
        (hopeless(rows, problem) || contradicts(total.dual, dual_weights, credible(rows, problem)));
    solution.certified = true;
}

template <class T> Vector credible(const ExtendedRows<T>& rows, const LinearProblem& problem) {
    constexpr double kMost = 1e4;
    constexpr Index kComparisons = 1000;
    const auto d = std::size_t(rows.width()) - 1;
    double target = 0;
    for (const Term& t : problem.terms)
        if (t.hard()) target = std::max(target, std::abs(t.q));
    // Geometric means of the differences between neighbouring rows, where there are any: an outlier hardly counts.
    Vector logs(d, 0.0), counts(d, 0.0), largest(d, 0.0), row(d + 1, 0.0);
    const Index step = std::max<Index>(1, rows.count() / kComparisons);
    for (Index i = 0; i < rows.count(); i += step) {
        rows.add(i, 1.0, row.data());
        rows.columns(i, [&](std::size_t k) { largest[k] = std::max(largest[k], std::abs(row[k])); });
        const Index next = i + 1 < rows.count() ? i + 1 : i;
        rows.add(next, -1.0, row.data());
        for (Index r : {i, next})
            rows.columns(r, [&](std::size_t k) {
                if (row[k] != 0) logs[k] += std::log(std::abs(row[k])), counts[k] += 1;
                row[k] = 0;
            });
        row[d] = 0;
    }
    Vector result(d + 1, 0.0);
    for (std::size_t k = 0; k < d; ++k) {
        const double typical = counts[k] > 0 ? std::exp(logs[k] / counts[k]) : largest[k];
        if (typical > 0) result[k] = kMost * target / typical;
        result[d] += result[k] * largest[k];
    }
    result[d] = rows.constant() == 0 ? 0.0 : (kMost * target + result[d]) / std::abs(rows.constant());
    return result;
}

bool contradicts(double gain, const Vector& combination, const Vector& credible) {
    double most = 0;
    for (std::size_t k = 0; k < credible.size(); ++k) most += credible[k] * std::abs(combination[k]);
    return gain > most;
}

template <class T> bool hopeless(const ExtendedRows<T>& rows, const LinearProblem& problem) {
    for (std::size_t i = 0; i < problem.terms.size(); ++i) {
        const Term& t = problem.terms[i];
        if (t.hard() && t.loss(t.q, problem.l1, 1.0) > 0 && rows.zero(Index(i))) return true;
    }
    return false;
}

template <class T>
bool ProgressReporter<T>::tell(Index iterations, Index active, const Vector& weights, const Vector& a) {
    LinearSolution now;
    now.weights = weights;
    now.coefficients = a;
    certify(rows_, problem_, options_, now);
    const double gap = std::max(now.primal - now.dual, 0.0);
    return stopped_ = options_.progress({options_.number, iterations, now.violation, gap, active});
}

namespace {

// Dense rows of which at most a quarter of the entries is not zero, as compressed rows: less to read, less to do.
template <class T> struct Compressed {
    std::vector<T> values;
    std::vector<std::int32_t> indices;
    std::vector<Index> indptr;

    static bool worth(const Source<T>& source) {
        // A look at some rows settles it for most data.
        const Index looked = std::min<Index>(source.rows, 256), step = source.rows / looked;
        return count(source, step, looked) * 4 <= looked * source.columns &&
               count(source, 1, source.rows) * 4 <= source.rows * source.columns;
    }
    static Index count(const Source<T>& source, Index step, Index rows) {
        Index parts[kParts] = {};
        over_parts(kParts, rows, [&](Index part, Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                const T* x = source.data + i * step * source.row_stride;
                parts[part] += source.columns - std::count(x, x + source.columns, T(0));
            }
        });
        Index total = 0;
        for (Index p : parts) total += p;
        return total;
    }
    explicit Compressed(const Source<T>& source) : indptr(std::size_t(source.rows) + 1, 0) {
        over_parts(kParts, source.rows, [&](Index, Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                const T* x = source.data + i * source.row_stride;
                indptr[std::size_t(i) + 1] = source.columns - std::count(x, x + source.columns, T(0));
            }
        });
        for (Index i = 0; i < source.rows; ++i) indptr[std::size_t(i) + 1] += indptr[std::size_t(i)];
        values.resize(std::size_t(indptr.back()));
        indices.resize(values.size());
        over_parts(kParts, source.rows, [&](Index, Index begin, Index end) {
            for (Index i = begin; i < end; ++i) {
                std::size_t p = std::size_t(indptr[std::size_t(i)]);
                for (Index k = 0; k < source.columns; ++k)
                    if (const T v = source.data[i * source.row_stride + k]; v != 0) {
                        values[p] = v;
                        indices[p++] = std::int32_t(k);
                    }
            }
        });
    }
    Source<T> source(const Source<T>& dense) const {
        Source<T> s;
        s.rows = dense.rows;
        s.columns = dense.columns;
        s.values = values.data();
        s.indices = indices.data();
        s.indptr = indptr.data();
        return s;
    }
};

} // namespace

template <class T> void solve(const Source<T>& source, double constant, const std::function<LinearProblem(Index)>& fill,
                              const Options& options, std::vector<LinearSolution>& solutions) {
    if (!source.sparse() && !source.contiguous()) throw std::invalid_argument("expected rows that are contiguous");
    if (!source.sparse() && source.rows > 0 && Compressed<T>::worth(source)) {
        const Compressed<T> compressed(source);
        return solve(compressed.source(source), constant, fill, options, solutions);
    }
    const ExtendedRows<T> rows(source, constant);
    const auto progress = one_at_a_time(options.progress);
    auto task = [&](long k) {
        Options own = options;
        own.seed += std::uint64_t(k);
        own.progress = progress;
        own.number = k;
        const LinearProblem problem = fill(k);
        bool smooth = true, bounded = true;
        for (const Term& t : problem.terms) {
            smooth = smooth && (t.ridge > 0 || !(t.lower < t.upper));
            bounded = bounded && std::isfinite(t.lower) && std::isfinite(t.upper);
        }
        auto way = own.primal && smooth ? newton<T> : own.primal && bounded ? proximal<T> : descend<T>;
        way(rows, problem, own, solutions[std::size_t(k)]);
        solutions[std::size_t(k)].coefficients = {}; // all outputs together they may take as much as the rows
    };
    const Index outputs = Index(solutions.size());
    try {
        // Many outputs: one thread each. Few: one after the other, each with all threads. The results are the same.
        if (outputs >= thread_count())
            parallel(outputs, task);
        else
            for (Index k = 0; k < outputs; ++k) task(k);
    } catch (const Interrupted&) {
        for (Index k = 0; k < outputs; ++k)
            if (!solutions[std::size_t(k)].certified) certify(rows, fill(k), options, solutions[std::size_t(k)]);
        throw;
    }
}

#define MERCER_INSTANTIATE(T)                                                                                          \
    template class ExtendedRows<T>;                                                                                    \
    template class ProgressReporter<T>;                                                                                \
    template void products(const ExtendedRows<T>&, const Vector&, Vector&);                                            \
    template void combine(const ExtendedRows<T>&, const Vector&, Vector&, Vector&);                                    \
    template void certify(const ExtendedRows<T>&, const LinearProblem&, const Options&, LinearSolution&);              \
    template Vector credible(const ExtendedRows<T>&, const LinearProblem&);                                            \
    template bool hopeless(const ExtendedRows<T>&, const LinearProblem&);                                              \
    template void solve(const Source<T>&, double, const std::function<LinearProblem(Index)>&, const Options&,          \
                        std::vector<LinearSolution>&);
MERCER_INSTANTIATE(float)
MERCER_INSTANTIATE(double)

} // namespace linear
} // namespace mercer
