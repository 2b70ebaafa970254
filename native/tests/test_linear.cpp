// The linear solvers: three ways to one optimum, against the plainest solver there is, and their loops against sums.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "solvers/linear.hpp"
#include "threads/pool.hpp"

#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace mercer;
using linear::Term;

static std::mt19937 random_engine(5);
static double normal() { return std::normal_distribution<double>()(random_engine); }

struct Data {
    Index rows, columns;
    std::vector<double> values;
    std::vector<float> narrow;
    std::vector<std::int32_t> indices;
    std::vector<Index> indptr{0};
    std::vector<double> stored;

    Data(Index n, Index d, double density) : rows(n), columns(d) {
        std::uniform_real_distribution<double> uniform;
        for (Index i = 0; i < n; ++i) {
            for (Index k = 0; k < d; ++k) {
                const double v = uniform(random_engine) < density ? double(float(normal())) : 0.0;
                values.push_back(v);
                narrow.push_back(float(v));
                if (v != 0) stored.push_back(v), indices.push_back(std::int32_t(k));
            }
            indptr.push_back(Index(stored.size()));
        }
    }
    Source<double> dense() const {
        Source<double> s;
        s.rows = rows, s.columns = s.row_stride = columns, s.column_stride = 1, s.data = values.data();
        return s;
    }
    Source<float> dense32() const {
        Source<float> s;
        s.rows = rows, s.columns = s.row_stride = columns, s.column_stride = 1, s.data = narrow.data();
        return s;
    }
    Source<double> sparse() const {
        Source<double> s;
        s.rows = rows, s.columns = columns;
        s.values = stored.data(), s.indices = indices.data(), s.indptr = indptr.data();
        return s;
    }
};

// One of the four losses, for targets that depend on the data.
static linear::LinearProblem problem_of(const Data& data, int kind) {
    linear::LinearProblem p;
    const bool regression = kind >= 2, squared = kind % 2 == 1;
    p.l1 = regression ? 0.2 : 0.0;
    for (Index i = 0; i < data.rows; ++i) {
        double f = 0.3 * normal();
        for (Index k = 0; k < data.columns; ++k)
            f += data.values[std::size_t(i * data.columns + k)] * (k % 3 - 1.0) * 0.5;
        const double q = regression ? f : f > 0 ? 1.0 : -1.0, C = 0.5 + 0.5 * double(i % 3);
        const double bound = i == 7 ? 0.0 : squared ? linear::kInfinity : C; // one row without a cost
        const bool up = regression || q > 0, down = regression || q < 0;
        p.terms.push_back({q, down ? -bound : 0.0, up ? bound : 0.0, squared && i != 7 ? 0.5 / C : 0.0});
    }
    return p;
}

// Coordinate descent on the dual with nothing around it; returns the dual objective.
static double plain(const Data& data, const linear::LinearProblem& p, double constant) {
    const std::size_t d = std::size_t(data.columns);
    std::vector<double> w(d + 1, 0.0), a(p.terms.size(), 0.0);
    double moved = 1;
    for (int sweep = 0; sweep < 100000 && moved > 1e-13; ++sweep) {
        moved = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            const Term& t = p.terms[i];
            if (!(t.lower < t.upper)) continue;
            const double* x = data.values.data() + i * d;
            double f = constant * w[d], H = constant * constant + t.ridge;
            for (std::size_t k = 0; k < d; ++k) f += x[k] * w[k], H += x[k] * x[k];
            double b = a[i] + (t.q - f - t.ridge * a[i]) / H;
            b = b > p.l1 / H ? b - p.l1 / H : b < -p.l1 / H ? b + p.l1 / H : 0.0;
            b = std::min(std::max(b, t.lower), t.upper);
            for (std::size_t k = 0; k < d; ++k) w[k] += x[k] * (b - a[i]);
            w[d] += constant * (b - a[i]);
            moved = std::max(moved, std::abs(b - a[i]));
            a[i] = b;
        }
    }
    double dual = 0;
    for (double v : w) dual -= 0.5 * v * v;
    for (std::size_t i = 0; i < a.size(); ++i)
        dual += a[i] * p.terms[i].q - p.l1 * std::abs(a[i]) - 0.5 * p.terms[i].ridge * a[i] * a[i];
    return dual;
}

template <class T> static linear::LinearSolution solved(const Source<T>& source, const linear::LinearProblem& p,
                                                        const linear::Options& options, std::size_t outputs = 1) {
    std::vector<linear::LinearSolution> solutions(outputs);
    linear::solve<T>(source, 0.7, [&](Index) { return p; }, options, solutions);
    CHECK(solutions.back().certified);
    return solutions.back();
}
template <class T> static linear::LinearSolution solved(const Source<T>& source, const linear::LinearProblem& p,
                                                        bool primal, std::size_t outputs = 1) {
    return solved(source, p, linear::Options{primal, 1e-7, 100000, 3}, outputs);
}

static void all_ways_lead_to_the_optimum() {
    for (auto [n, d, density] :
         {std::tuple<Index, Index, double>{60, 5, 1.0}, {80, 7, 0.2}, {30, 45, 1.0}, {25, 90, 0.1}, {90, 150, 0.5}}) {
        const Data data(n, d, density);
        for (int kind = 0; kind < 4; ++kind) {
            const linear::LinearProblem p = problem_of(data, kind);
            const double optimum = plain(data, p, 0.7);
            for (bool primal : {false, true})
                for (int storage = 0; storage < 3; ++storage) {
                    check::context = std::to_string(n) + " x " + std::to_string(d) + " loss " + std::to_string(kind) +
                                     (primal ? " primal" : " dual") + " storage " + std::to_string(storage);
                    const auto s = storage == 0   ? solved(data.dense(), p, primal)
                                   : storage == 1 ? solved(data.sparse(), p, primal)
                                                  : solved(data.dense32(), p, primal);
                    CHECK(s.converged);
                    CHECK(s.primal >= s.dual - 1e-9 * std::abs(s.primal));
                    CHECK_CLOSE(s.primal, optimum, 1e-5, std::abs(optimum));
                    CHECK_CLOSE(s.dual, optimum, 1e-5, std::abs(optimum));
                    CHECK(Index(s.weights.size()) == d + 1);
                }
        }
    }
    check::context.clear();
}

static void threads_do_not_change_anything() {
    const Data data(3000, 40, 0.9);
    for (int kind = 0; kind < 4; ++kind)
        for (bool primal : {false, true})
            for (std::size_t outputs : {1, 4}) {
                const linear::LinearProblem p = problem_of(data, kind);
                const linear::Options options{primal, 1e-4, 100000, 3};
                set_thread_count(1);
                const auto one = solved(data.dense(), p, options, outputs);
                set_thread_count(3);
                const auto three = solved(data.dense(), p, options, outputs);
                CHECK(one.weights == three.weights);
                CHECK(one.primal == three.primal && one.violation == three.violation);
            }
}

static void a_limit_of_iterations_is_kept() {
    const Data data(200, 10, 1.0);
    for (int kind = 0; kind < 4; ++kind)
        for (bool primal : {false, true}) {
            const linear::Options options{primal, 1e-12, 1, 0};
            const linear::LinearProblem p = problem_of(data, kind);
            const auto s = solved(data.dense(), p, options);
            CHECK(!s.converged);
            CHECK(s.iterations == 1);
            CHECK(s.primal - s.dual > 0);
        }
}

// A report says what the certificate says if the solver stops there. It takes so long that the next is due at once.
static void progress_is_certified() {
    const Data data(200, 10, 1.0);
    for (int kind = 0; kind < 4; ++kind)
        for (bool primal : {false, true}) {
            check::context = "progress, loss " + std::to_string(kind) + (primal ? " primal" : " dual");
            const linear::LinearProblem p = problem_of(data, kind);
            std::vector<linear::LinearProgress> seen;
            linear::Options options{primal, 1e-12, 1000, 0};
            options.progress = [&](const linear::LinearProgress& progress) {
                std::this_thread::sleep_for(std::chrono::duration<double>(1.01 * kReportEvery));
                seen.push_back(progress);
                return seen.size() == 2;
            };
            const auto s = solved(data.dense(), p, options);
            CHECK(seen.size() == 2 && !s.converged);
            CHECK(seen[0].iterations == 0 && seen[0].problem == 0 && seen[0].gap > 0);
            if (primal && kind % 2 == 0) continue; // its stages begin elsewhere
            CHECK(seen[1].iterations == s.iterations && s.iterations > 0);
            CHECK(seen[1].active > 0 && seen[1].active <= data.rows);
            CHECK_CLOSE(seen[1].violation, s.violation, 1e-9, 1 + s.violation);
            CHECK_CLOSE(seen[1].gap, s.primal - s.dual, 1e-9, s.primal);
        }
    check::context.clear();
}

// The hook says stop when it is asked for the k-th time. It sleeps, so that it is asked whenever it may be; the first
// time is before there is anything to leave.
static void an_interruption_leaves_certified_weights() {
    const Data data(400, 12, 1.0);
    for (int kind = 0; kind < 4; ++kind)
        for (bool primal : {false, true})
            for (int stop : {1, 2, 3, 5}) {
                check::context = "interrupted when asked " + std::to_string(stop) + " times, loss " +
                                 std::to_string(kind) + (primal ? " primal" : " dual");
                const linear::LinearProblem p = problem_of(data, kind);
                std::vector<linear::LinearSolution> solutions(stop % 2 ? 3 : 1);
                int asked = 0;
                set_interrupt_hook([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(51));
                    return ++asked == stop;
                });
                bool interrupted = false; // a fast one may have ended before
                try {
                    const linear::Options options{primal, 0.0, 100000, 0};
                    linear::solve<double>(data.dense(), 0.7, [&](Index) { return p; }, options, solutions);
                } catch (const Interrupted&) {
                    interrupted = true;
                }
                set_interrupt_hook(nullptr);
                CHECK(interrupted == (asked >= stop) && (interrupted || stop > 2));
                const double optimum = solved(data.dense(), p, primal).dual;
                for (const auto& s : solutions) {
                    CHECK(s.certified == (stop > 1));
                    if (!s.certified) continue;
                    CHECK(Index(s.weights.size()) == data.columns + 1);
                    CHECK(s.primal >= optimum * (1 - 1e-9) && s.dual <= optimum * (1 + 1e-9));
                    CHECK(s.converged == (s.primal - s.dual <= 1e-12 * s.primal || s.violation == 0));
                }
            }
    check::context.clear();
}

template <class T> static void loops_agree_with_sums() {
    const auto& fast = linear::loops<T>();
    for (std::ptrdiff_t n : {0, 1, 3, 7, 16, 33, 100}) {
        std::vector<T> x;
        std::vector<double> w, v;
        std::vector<std::int32_t> at;
        double sum = 0, scale = 1, sparse = 0;
        for (std::ptrdiff_t k = 0; k < 2 * n; ++k) v.push_back(normal());
        for (std::ptrdiff_t k = 0; k < n; ++k) {
            x.push_back(T(normal()));
            w.push_back(normal());
            at.push_back(std::int32_t(2 * k + k % 2));
            sum += double(x.back()) * w.back();
            sparse += double(x.back()) * v[std::size_t(at.back())];
            scale += std::abs(double(x.back()));
        }
        CHECK_CLOSE(fast.dot(n, x.data(), w.data()), sum, 1e-14, 4 * scale);
        CHECK_CLOSE(fast.sparse_dot(n, x.data(), at.data(), v.data()), sparse, 1e-14, 4 * scale);
        auto moved = w, spread = v;
        fast.add(n, 0.5, x.data(), moved.data());
        fast.sparse_add(n, 0.5, x.data(), at.data(), spread.data());
        for (std::size_t k = 0; k < w.size(); ++k) {
            CHECK_CLOSE(moved[k], w[k] + 0.5 * double(x[k]), 1e-15, 10);
            CHECK_CLOSE(spread[std::size_t(at[k])], v[std::size_t(at[k])] + 0.5 * double(x[k]), 1e-15, 10);
        }
    }
    for (std::ptrdiff_t count : {0, 1, 4, 7, 30})
        for (std::ptrdiff_t n : {1, 3, 9, 20}) {
            const std::ptrdiff_t stride = n + 2;
            std::vector<T> x;
            std::vector<double> a, w, f(std::size_t(count), 0.0);
            for (std::ptrdiff_t k = 0; k < count * stride; ++k) x.push_back(T(normal()));
            for (std::ptrdiff_t i = 0; i < count; ++i) a.push_back(i % 3 == 1 ? 0.0 : normal());
            for (std::ptrdiff_t k = 0; k < n; ++k) w.push_back(normal());
            auto moved = w;
            fast.dots(count, n, stride, x.data(), w.data(), f.data());
            fast.adds(count, n, stride, a.data(), x.data(), moved.data());
            for (std::ptrdiff_t i = 0; i < count; ++i)
                CHECK_CLOSE(f[std::size_t(i)], fast.dot(n, x.data() + i * stride, w.data()), 1e-14, 100);
            for (std::ptrdiff_t i = 0; i < count; ++i) fast.add(n, a[std::size_t(i)], x.data() + i * stride, w.data());
            for (std::size_t k = 0; k < w.size(); ++k) CHECK_CLOSE(moved[k], w[k], 1e-14, 100);
        }
    for (std::ptrdiff_t n : {1, 5, 16, 21, 40}) {
        const std::ptrdiff_t depth = 9, stride = (n + linear::kPad - 1) / linear::kPad * linear::kPad;
        std::vector<double> B(std::size_t(depth * stride), 0.0), H(std::size_t(n * stride + linear::kPad), 1.0);
        for (std::ptrdiff_t k = 0; k < depth; ++k)
            for (std::ptrdiff_t i = 0; i < n; ++i) B[std::size_t(k * stride + i)] = normal();
        fast.gram(depth, n, stride, -2.0, B.data(), H.data());
        for (std::ptrdiff_t i = 0; i < n; ++i)
            for (std::ptrdiff_t j = 0; j <= i; ++j) {
                double sum = 1;
                for (std::ptrdiff_t k = 0; k < depth; ++k)
                    sum -= 2 * B[std::size_t(k * stride + i)] * B[std::size_t(k * stride + j)];
                CHECK_CLOSE(H[std::size_t(i * stride + j)], sum, 1e-13, 100);
            }
    }
}

int main() {
    for (const auto* set : instruction_sets()) {
        if (!set->available()) continue;
        select_instruction_set(set->name);
        loops_agree_with_sums<float>();
        loops_agree_with_sums<double>();
    }
    all_ways_lead_to_the_optimum();
    threads_do_not_change_anything();
    a_limit_of_iterations_is_kept();
    progress_is_certified();
    an_interruption_leaves_certified_weights();
    return check::finish();
}
