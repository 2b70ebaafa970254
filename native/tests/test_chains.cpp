// Chains of problems along prices: at each price the same as the problem alone, with a certificate that tells the
// truth, on matrices of every kind and for any number of threads.
#include "check.hpp"
#include "expansion/votes.hpp"
#include "problems.hpp"
#include "solvers/chains.hpp"
#include "threads/pool.hpp"

using namespace mercer;
using problems::Data;
using problems::Example;

static const std::vector<double> kPrices = {0.1, 1, 1, 40, 3000};

// Samples of classes, a part of each held out, every pair of classes a problem with bounds for a price of 1.
static std::vector<Example> pairs_of_classes(const Data& data, Index classes, Index step) {
    std::vector<Example> examples;
    const Index each = data.n / classes;
    for (Index c = 0; c < classes; ++c)
        for (Index e = 0; e < c; ++e) {
            std::vector<double> y;
            std::vector<Index> sample;
            for (Index of : {e, c})
                for (Index i = 0; i < each; ++i) {
                    if (step ? i % step == 0 : i >= each / 3 && i < each / 2) continue;
                    y.push_back(of == e ? 1 : -1), sample.push_back(of * each + i);
                }
            examples.push_back(problems::hinge(y, 1));
            examples.back().sample = sample;
        }
    return examples;
}

struct Found {
    std::vector<double> a, f;
    Certificate certificate;
};
static std::vector<std::vector<Found>> solved(const Matrices& matrices, const std::vector<Example>& examples,
                                              double tol) {
    std::vector<Chain> chains;
    for (const Example& example : examples) chains.push_back({example.problem(), {example.total[0]}});
    std::vector<std::vector<Found>> found(examples.size(), std::vector<Found>(kPrices.size()));
    Settings settings;
    settings.tol = tol;
    solve_chains(matrices, chains, kPrices, settings, [&](std::size_t i, std::size_t at, const ProblemRun& run) {
        found[i][at] = {{run.a, run.a + run.problem.count}, {run.f, run.f + run.problem.count}, run.certificate};
    });
    return found;
}

static void at_each_price(const Data& data, const Matrices& matrices, const std::vector<Example>& examples,
                          double tol) {
    const auto matrix = data.matrix();
    const auto found = solved(matrices, examples, tol);
    for (std::size_t i = 0; i < examples.size(); ++i)
        for (std::size_t at = 0; at < kPrices.size(); ++at) {
            check::context = "chain " + std::to_string(i) + " at " + std::to_string(kPrices[at]);
            Example own = examples[i];
            for (double& v : own.lower) v *= kPrices[at];
            for (double& v : own.upper) v *= kPrices[at];
            const Found& mine = found[i][at];
            CHECK(own.feasible(mine.a));
            const auto exact = naive::product(own.problem(), matrix, data.n, mine.a.data());
            double mass = 1;
            for (double v : mine.a) mass += std::abs(v);
            for (std::size_t p = 0; p < exact.size(); ++p) CHECK_CLOSE(mine.f[p], exact[p], 2e-7, mass);
            CHECK(mine.certificate.violation <= tol);
            CHECK(mine.certificate.violation >=
                  naive::violation(own.problem(), mine.a.data(), exact.data()) - 1e-12 * mass);
            const double dual = -naive::objective(own.problem(), mine.a.data(), exact.data());
            CHECK(mine.certificate.dual <= dual + 1e-6 * std::abs(dual));
            // The optimum lies between them, and so does that of the problem alone.
            std::vector<double> a(own.q.size()), f(own.q.size());
            std::vector<ProblemRun> alone(1);
            alone[0].problem = own.problem();
            alone[0].a = a.data(), alone[0].f = f.data();
            Settings settings;
            settings.tol = tol;
            solve(data.matrices(false), alone, settings);
            const double slack = 1e-9 * std::abs(dual);
            CHECK(mine.certificate.dual <= alone[0].certificate.primal + slack);
            CHECK(alone[0].certificate.dual <= mine.certificate.primal + slack);
        }
}

static void same_for_any_threads(const Matrices& matrices, const std::vector<Example>& examples) {
    check::context = "threads";
    set_thread_count(1);
    const auto one = solved(matrices, examples, 1e-3);
    set_thread_count(3);
    const auto three = solved(matrices, examples, 1e-3);
    for (std::size_t i = 0; i < examples.size(); ++i)
        for (std::size_t at = 0; at < kPrices.size(); ++at) CHECK(one[i][at].a == three[i][at].a);
}

static void stopped(const Matrices& matrices, const std::vector<Example>& examples) {
    check::context = "stopped";
    set_thread_count(1);
    std::vector<Chain> chains;
    for (const Example& example : examples) chains.push_back({example.problem(), {0}});
    std::size_t answers = 0;
    const auto count = [&](std::size_t, std::size_t, const ProblemRun&) { ++answers; };
    solve_chains(matrices, chains, kPrices, {}, count, [] { return true; });
    CHECK(answers < examples.size() * kPrices.size());
    solve_chains(matrices, chains, {}, {}, count);
    // What is at work ends, too.
    const auto ended = [&](std::size_t, std::size_t, const ProblemRun& run) {
        CHECK(run.solved.status == Status::stopped && run.solved.steps == 0);
    };
    solve_chains(matrices, {chains.front()}, {3000}, {}, ended, [] { return true; });
}

static void votes() {
    check::context = "votes";
    // Sums of each of three classes for the other two: 0 loses to 1 and beats 2, which beats 1: the first of all wins.
    const std::vector<double> sums = {-1, 2, 0, -3, 0, 0}, bias = {0, 0, 0};
    CHECK(most_votes(sums.data(), 2, 3, bias.data()) == 0);
    // With a bias of -4, 0 loses to 2.
    const std::vector<double> biased = {0, -4, 0};
    CHECK(most_votes(sums.data(), 2, 3, biased.data()) == 2);
    // A value of zero is for the second of a pair.
    const std::vector<double> none(6, 0.0);
    CHECK(most_votes(none.data(), 2, 3, bias.data()) == 2);
}

int main() {
    for (const auto& [n, classes, step] : {std::tuple<Index, Index, Index>{60, 4, 0}, {1000, 4, 0}, {1000, 4, 5}}) {
        const Data data(n, 3, 1.0, 1);
        const auto examples = pairs_of_classes(data, classes, step);
        Matrices held = data.matrices(false);
        held.single = held_gram(*held.exact);
        for (double tol : {1e-3, 1e-6}) at_each_price(data, held, examples, tol);
        at_each_price(data, data.matrices(true), examples, 1e-3);
        same_for_any_threads(held, examples);
        stopped(held, examples);
    }
    votes();
    return check::finish();
}
