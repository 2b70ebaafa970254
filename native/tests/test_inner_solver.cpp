// The innermost solver against every combination of bounds tried in turn: all kinds of problems, both precisions,
// every instruction set of this processor; limits, and problems without a minimum.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "problems.hpp"
#include "solvers/inner_solver.hpp"

#include <numeric>

using namespace mercer;
using problems::Example;

template <class T> constexpr double kFine = sizeof(T) == 4 ? 3e-6 : 1e-11;

// Gives the block the matrix among the chosen coefficients, all at once or row by row when it asks; what is beside it
// is left as it was.
template <class T> static void fill(InnerSolver<T>& block, const Problem& problem, const std::vector<Index>& which,
                                    const std::vector<double>& matrix, Index n, bool fetched = false) {
    auto entry = [&matrix, problem, n](Index p, Index r) {
        return matrix[std::size_t(problem.sample_of(p) * n + problem.sample_of(r))];
    };
    std::vector<double> diagonal;
    for (Index p : which) diagonal.push_back(entry(p, p));
    block.choose(problem, which, diagonal);
    block.make_room();
    auto write = [=](Index i, T* row) {
        for (std::size_t j = 0; j < which.size(); ++j) row[j] = T(entry(which[std::size_t(i)], which[j]));
    };
    if (fetched)
        block.fetch_with([=](const std::vector<Index>& rows, const std::vector<T*>& to) {
            CHECK(!rows.empty() && rows.size() == to.size());
            for (std::size_t i = 0; i < rows.size(); ++i) write(rows[i], to[i]);
            return false;
        });
    else
        for (Index i = 0; i < Index(which.size()); ++i) write(i, block.matrix() + i * block.stride());
}

static std::vector<double> slopes(const Problem& problem, const double* a, const std::vector<double>& f) {
    std::vector<double> s(f.size());
    for (Index p = 0; p < problem.count; ++p)
        s[std::size_t(p)] = problem.q[p] - f[std::size_t(p)] - problem.ridge[p] * a[p];
    return s;
}

template <class T> static void against_all_combinations(InnerSolver<T>& block, const Example& example,
                                                        const std::vector<double>& matrix, Index n) {
    check::context = example.name + " of " + std::to_string(example.count()) + ", " + std::to_string(8 * sizeof(T)) +
                     " bits, " + instruction_set().name;
    const Problem problem = example.problem();
    std::vector<double> exact;
    const double best = naive::minimum(problem, example.total.data(), matrix, n, exact);
    std::vector<Index> all(std::size_t(problem.count));
    std::iota(all.begin(), all.end(), Index(0));
    fill(block, problem, all, matrix, n);
    const auto start = example.start(), f0 = naive::product(problem, matrix, n, start.data());
    CHECK(example.feasible(start));
    const Outcome outcome = block.solve(start, slopes(problem, start.data(), f0), kFine<T>, 1000000);
    CHECK(!outcome.unbounded && outcome.steps < 1000000);
    CHECK(outcome.violation <= kFine<T>);
    CHECK(example.feasible(block.a()));
    const auto f = naive::product(problem, matrix, n, block.a().data());
    double mass = 1;
    for (double a : block.a()) mass += std::abs(a);
    CHECK_CLOSE(naive::violation(problem, block.a().data(), f.data()), outcome.violation, 10 * kFine<T>, mass);
    CHECK_CLOSE(naive::objective(problem, block.a().data(), f.data()), best, 10 * kFine<T>, mass * mass);

    // Rows fetched when they are needed make no difference, and each is fetched once.
    const std::vector<double> solution = block.a();
    fill(block, problem, all, matrix, n, true);
    const Outcome again = block.solve(start, slopes(problem, start.data(), f0), kFine<T>, 1000000);
    CHECK(block.a() == solution && again.steps == outcome.steps);
    CHECK(block.fetched() > 0 && block.fetched() <= problem.count);

    // From the solution no step is taken, and a limit on the steps is kept.
    CHECK(block.solve(solution, slopes(problem, solution.data(), f), 20 * mass * kFine<T>, 1000000).steps == 0);
    CHECK(block.a() == solution);
    for (Index limit : {0, 1, 2}) {
        const Outcome few = block.solve(start, slopes(problem, start.data(), f0), kFine<T>, limit);
        CHECK(few.steps == std::min(limit, outcome.steps));
        CHECK(example.feasible(block.a()));
    }
}

// A working set of some coefficients, in any order: the others stay, and no better point is within reach.
template <class T> static void part_of_a_problem(InnerSolver<T>& block) {
    const problems::Data data(40, 2, 1.0, 11);
    const auto matrix = data.matrix();
    for (const Example& example : data.every_kind(3)) {
        check::context = "part of " + example.name;
        const Problem problem = example.problem();
        const auto start = example.start();
        const auto s = slopes(problem, start.data(), naive::product(problem, matrix, data.n, start.data()));
        std::vector<Index> which;
        for (Index p = problem.count - 1; p >= 0; p -= 2) which.push_back(p);
        std::vector<double> a, own;
        for (Index p : which) a.push_back(start[std::size_t(p)]), own.push_back(s[std::size_t(p)]);
        fill(block, problem, which, matrix, data.n, true);
        block.solve(a, own, kFine<T>, 1000000);
        const auto fetched = block.a();
        fill(block, problem, which, matrix, data.n);
        block.solve(a, own, kFine<T>, 1000000);
        CHECK(block.a() == fetched);
        auto after = start;
        for (std::size_t i = 0; i < which.size(); ++i) after[std::size_t(which[i])] = block.a()[i];
        CHECK(example.feasible(after));
        // The rest of the problem held where it is: its violation is that of the part.
        Example part = example;
        for (Index p = 0; p < problem.count; ++p)
            if (std::find(which.begin(), which.end(), p) == which.end())
                part.lower[std::size_t(p)] = part.upper[std::size_t(p)] = start[std::size_t(p)];
        const auto f = naive::product(problem, matrix, data.n, after.data());
        CHECK_CLOSE(naive::violation(part.problem(), after.data(), f.data()), 0, 20 * kFine<T>, 20);
    }
}

// Two samples of different labels in one place, and nothing that bounds their coefficients.
template <class T> static void without_a_minimum(InnerSolver<T>& block) {
    check::context = "no minimum";
    const std::vector<double> matrix{1, 0, 1, 0, 1, 0, 1, 0, 1};
    const Example hard = problems::hinge({1, 1, -1}, INFINITY), soft = problems::hinge({1, 1, -1}, 5);
    for (const Example& example : {hard, soft}) {
        const Problem problem = example.problem();
        fill(block, problem, {0, 1, 2}, matrix, 3);
        const Outcome outcome = block.solve({0, 0, 0}, example.q, kFine<T>, 1000);
        CHECK(outcome.unbounded == std::isinf(example.upper[0]));
        CHECK(example.feasible(block.a()));
    }
}

template <class T> static void all() {
    InnerSolver<T> block; // used again, larger and smaller
    for (unsigned seed = 1; seed <= 6; ++seed)
        for (Index n : {3, 5, 2}) {
            const problems::Data data(n, 2, 1.0, seed);
            const auto matrix = data.matrix();
            for (double C : {0.5, 20.0})
                for (const Example& example : data.every_kind(C))
                    if (example.count() <= 6) against_all_combinations(block, example, matrix, n);
        }
    // Samples that coincide: the matrix is singular.
    const std::vector<double> twins{1, 1, 0.3, 0.3, 1, 1, 0.3, 0.3, 0.3, 0.3, 1, 1, 0.3, 0.3, 1, 1};
    for (double C : {0.5, 20.0})
        for (const Example& example :
             {problems::hinge({1, -1, 1, -1}, C), problems::epsilon_insensitive({0.5, -0.7, 0.1, 0.2}, C, 0.05),
              problems::squared_hinge({1, -1, -1, -1}, C), problems::one_class(4, 0.4),
              problems::nu_hinge({1, -1, 1, -1}, 0.7)})
            against_all_combinations(block, example, twins, 4);
    part_of_a_problem(block);
    without_a_minimum(block);
}

int main() {
    for (const InstructionSet* set : instruction_sets()) {
        if (!set->available()) continue;
        select_instruction_set(set->name);
        all<float>();
        all<double>();
    }
    return check::finish();
}
