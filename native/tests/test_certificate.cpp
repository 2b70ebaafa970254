// The certificate against its definition: primal above dual, equal at the optimum; the bias is the best one; and
// what single precision cannot tell is computed again in double precision.
#include "check.hpp"
#include "problems.hpp"
#include "solvers/certificate.hpp"
#include "solvers/exact_products.hpp"
#include "solvers/product_errors.hpp"
#include "threads/pool.hpp"

using namespace mercer;
using problems::Data;
using problems::Example;

// loss_p(u) by its definition: the maximum of a concave function between the bounds, by ternary search.
static double loss(const Problem& problem, Index p, double u) {
    auto value = [&](double a) { return u * a - problem.l1[p] * std::abs(a) - problem.ridge[p] * a * a / 2; };
    double low = std::max(problem.lower[p], -1e4), high = std::min(problem.upper[p], 1e4);
    double best = std::max(value(low), value(high));
    for (int round = 0; round < 300; ++round) {
        const double a = low + (high - low) / 3, b = high - (high - low) / 3;
        best = std::max({best, value(a), value(b)});
        (value(a) < value(b) ? low : high) = value(a) < value(b) ? a : b;
    }
    return std::max({best, value(low), value(high), 0 >= problem.lower[p] && 0 <= problem.upper[p] ? 0.0 : -INFINITY});
}

static double primal(const Example& example, const double* a, const double* f, const double* bias) {
    const Problem problem = example.problem();
    double sum = 0;
    for (std::size_t g = 0; g < example.total.size(); ++g) sum += bias[g] * example.total[g];
    for (Index p = 0; p < problem.count; ++p)
        sum += a[p] * f[p] / 2 + loss(problem, p, problem.q[p] - f[p] - bias[problem.group_of(p)]);
    return sum;
}

static void certificates_of(const Example& example, const std::vector<double>& matrix, Index n) {
    const Problem problem = example.problem();
    std::vector<double> a = example.start();
    double before = INFINITY;
    for (double tol : {1e3, 1.0, 1e-2, 1e-4, 1e-8}) { // from a bad solution to a good one
        check::context = example.name + " solved to " + std::to_string(tol);
        naive::smo(problem, matrix, n, tol, a.data());
        const auto f = naive::product(problem, matrix, n, a.data());
        const Certificate c = certify(problem, a.data(), f.data(), example.total.data());
        double mass = 1;
        for (double v : a) mass += std::abs(v);
        CHECK_CLOSE(c.dual, -naive::objective(problem, a.data(), f.data()), 1e-13, mass * mass);
        CHECK_CLOSE(c.primal, primal(example, a.data(), f.data(), c.bias), 1e-9, mass * mass);
        CHECK_CLOSE(c.violation, naive::violation(problem, a.data(), f.data()), 1e-13, mass);
        CHECK(c.primal >= c.dual - 1e-12 * mass * mass);
        CHECK(c.dual >= -before - 1e-12 * mass * mass); // the dual rises as the solution improves
        before = -c.dual;
        double bounds = mass;
        for (Index p = 0; p < problem.count; ++p)
            for (double bound : {problem.lower[p], problem.upper[p]})
                if (std::isfinite(bound)) bounds += std::abs(bound);
        if (c.violation <= 1e-2) CHECK(c.primal - c.dual <= 2 * c.violation * bounds);
        for (int g = 0; g < problem.groups; ++g)
            for (double change : {-1.0, -1e-2, -1e-4, 1e-4, 1e-2, 1.0}) {
                double bias[2] = {c.bias[0], c.bias[1]};
                bias[g] += change;
                CHECK(primal(example, a.data(), f.data(), bias) >= c.primal - 1e-9 * mass * mass);
            }
    }
}

// A hard margin has no finite loss; what is charged for it vanishes at the optimum all the same.
static void hard_margin() {
    check::context = "hard margin";
    const Data data(30, 2, 0.3, 3);
    const Example example = problems::hinge(data.labels, INFINITY);
    const auto matrix = data.matrix();
    const Problem problem = example.problem();
    std::vector<double> a = example.start();
    naive::smo(problem, matrix, data.n, 1e-9, a.data());
    const auto f = naive::product(problem, matrix, data.n, a.data());
    const Certificate c = certify(problem, a.data(), f.data(), example.total.data());
    CHECK(std::isfinite(c.primal) && std::isfinite(c.bias[0]));
    CHECK(c.primal >= c.dual * (1 - 1e-12));
    CHECK_CLOSE(c.primal, c.dual, 1e-5, c.dual);
}

// Without an equality constraint there is no bias, and zero is among the slopes.
static void no_group() {
    check::context = "no group";
    const Data data(20, 2, 0.3, 4);
    Example example = problems::squared_hinge(data.labels, 3);
    example.total.clear();
    const std::vector<double> a(20, 0.0), f(20, 0.0);
    const Certificate c = certify(example.problem(), a.data(), f.data(), nullptr);
    CHECK(c.violation == 2 && c.bias[0] == 0 && c.bias[1] == 0 && c.dual == 0);
    CHECK_CLOSE(c.primal, 3 * 20, 1e-12, 60);
}

// What (K a) of each sample may be off by, from what the entries may be.
static std::vector<double> product_errors(const EntryErrors& errors, const Problem& problem, const double* a, Index n) {
    std::vector<double> off(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i)
        for (Index p = 0; p < problem.count; ++p)
            if (a[p] != 0)
                off[std::size_t(i)] +=
                    errors.between(errors.level(i), errors.level(problem.sample_of(p))) * std::abs(a[p]);
    return off;
}

static void errors_of_products(const Data& data, const Example& example, const EntryErrors& errors) {
    check::context = example.name + ", errors of products";
    const Problem problem = example.problem();
    std::vector<double> a(std::size_t(problem.count));
    for (std::size_t p = 0; p < a.size(); ++p) a[p] = p % 3 == 0 ? 0.0 : (p % 2 ? 1.0 : -0.5) * double(p % 5);
    const auto off = product_errors(errors, problem, a.data(), data.n);
    const ProductErrors found(errors, problem, a.data());
    double largest = 0, squares = 0;
    for (Index p = 0; p < problem.count; ++p) {
        CHECK_CLOSE(found.of(p), off[std::size_t(problem.sample_of(p))], 1e-12, off[std::size_t(problem.sample_of(p))]);
        largest = std::max(largest, found.of(p));
        for (Index q = 0; q < problem.count; ++q) {
            const double error = errors.between(errors.level(problem.sample_of(p)), errors.level(problem.sample_of(q)));
            squares += std::pow(error * a[std::size_t(p)] * a[std::size_t(q)], 2);
        }
    }
    CHECK(found.largest() >= largest);
    CHECK_CLOSE(found.independent(), std::sqrt(squares), 1e-12, std::sqrt(squares));
    // An error of samples that have no coefficients is none.
    const EntryErrors unknown({0, 1}, {1e-6, INFINITY, INFINITY, INFINITY}, 2);
    const double q = 1, lower = 0, upper = 2, none = 0, one = 1;
    Problem single;
    single.count = 1, single.q = &q, single.lower = &lower, single.upper = &upper, single.l1 = single.ridge = &none;
    const ProductErrors of_one(unknown, single, &one);
    CHECK(of_one.of(0) == 1e-6 && of_one.largest() == INFINITY && of_one.independent() == 1e-6);
}

// f with noise below the stated error is made exact where it decides the violation, and only f changes.
static void sharpening(const Data& data, const Example& example, const std::vector<double>& matrix,
                       const EntryErrors& error) {
    check::context = example.name + " sharpened, error " + std::to_string(error.largest());
    const Problem problem = example.problem();
    std::vector<double> a = example.start();
    naive::smo(problem, matrix, data.n, 1e-3, a.data());
    const auto exact = naive::product(problem, matrix, data.n, a.data());
    double mass = 0;
    for (double v : a) mass += std::abs(v);
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> noise = product_errors(error, problem, a.data(), data.n), f(exact);
    for (double& v : noise) v *= 0.999 * uniform(random);
    for (Index p = 0; p < problem.count; ++p) f[std::size_t(p)] += noise[std::size_t(problem.sample_of(p))];
    const auto rough = f;
    const auto gram = data.gram<double>();
    ExactProducts violators(*gram, problem, a.data(), f.data());
    const Index many = violators.violators(error);
    CHECK(many > 0 && many <= problem.count);
    const double true_violation = naive::violation(problem, a.data(), exact.data());
    CHECK_CLOSE(naive::violation(problem, a.data(), f.data()), true_violation, 1e-13, 1 + mass);
    CHECK_CLOSE(certify(problem, a.data(), f.data(), example.total.data()).violation, true_violation, 1e-13, 1 + mass);
    Index changed = 0;
    for (std::size_t p = 0; p < f.size(); ++p) {
        if (f[p] == rough[p]) continue;
        ++changed;
        CHECK_CLOSE(f[p], exact[p], 1e-14, 1 + mass);
    }
    CHECK(changed <= many && changed >= many / 2);
    // Nothing twice: what is left are the others.
    CHECK(violators.all() == problem.count - many && violators.support() == 0 && violators.violators(error) == 0);
    for (std::size_t p = 0; p < f.size(); ++p) CHECK_CLOSE(f[p], exact[p], 1e-14, 1 + mass);
    // With an unknown error, everything.
    auto all = rough;
    CHECK(ExactProducts(*gram, problem, a.data(), all.data()).violators(INFINITY) == problem.count);
    for (std::size_t p = 0; p < all.size(); ++p) CHECK_CLOSE(all[p], exact[p], 1e-14, 1 + mass);
    // Of what the objectives depend on, everything and nothing else.
    auto support = rough;
    ExactProducts supporting(*gram, problem, a.data(), support.data());
    CHECK(supporting.support() == Index(std::count_if(a.begin(), a.end(), [](double v) { return v != 0; })));
    for (std::size_t p = 0; p < support.size(); ++p)
        CHECK_CLOSE(support[p], a[p] != 0 ? exact[p] : rough[p], 1e-14, 1 + mass);
    // Then the violation is true as before, with fewer computed.
    CHECK(supporting.violators(error) < many);
    CHECK_CLOSE(naive::violation(problem, a.data(), support.data()), true_violation, 1e-13, 1 + mass);
    // With no error, nothing; and nothing but zeros for a solution of zeros.
    CHECK(ExactProducts(*gram, problem, a.data(), all.data()).violators(0.0) == 0);
    const std::vector<double> zeros(a.size(), 0.0);
    for (double e : {1e-6, double(INFINITY)}) {
        auto none = rough;
        ExactProducts(*gram, problem, zeros.data(), none.data()).violators(e);
        CHECK(none == zeros);
    }
}

int main() {
    set_thread_count(2);
    const Data small(40, 2, 1.0, 1), medium(500, 3, 1.0, 2);
    const auto small_matrix = small.matrix(), medium_matrix = medium.matrix();
    for (double C : {0.1, 10.0})
        for (const Example& example : small.every_kind(C)) certificates_of(example, small_matrix, small.n);
    hard_margin();
    no_group();
    for (const Example& example : medium.every_kind(2))
        for (double error : {1e-7, 1e-5}) sharpening(medium, example, medium_matrix, error);
    // Few samples of which less is known.
    std::vector<std::uint8_t> level(std::size_t(medium.n));
    for (std::size_t i = 0; i < level.size(); i += 25) level[i] = i % 50 ? 1 : 2;
    const EntryErrors uneven(level, {1e-7, 1e-6, 1e-5, 1e-6, 1e-5, 1e-4, 1e-5, 1e-4, 1e-3}, 3);
    for (const Example& example : medium.every_kind(2)) {
        sharpening(medium, example, medium_matrix, uneven);
        errors_of_products(medium, example, uneven);
    }
    return check::finish();
}
