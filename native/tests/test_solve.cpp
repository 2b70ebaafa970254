// Problems solved and certified: alone and together, in single precision where it is enough and in double where not,
// with or without a minimum, interrupted or told to stop.
#include "check.hpp"
#include "problems.hpp"
#include "solvers/memory_plan.hpp"
#include "solvers/problem_matrix.hpp"
#include "threads/pool.hpp"

#include <atomic>
#include <numeric>

using namespace mercer;
using problems::Data;
using problems::Example;

struct Answers {
    std::vector<std::vector<double>> a, f;
    std::vector<ProblemRun> tasks;
};

// The tasks point into the examples.
static Answers ready(std::vector<Example>&&) = delete;
static Answers ready(const std::vector<Example>& examples) {
    Answers answers;
    for (const Example& example : examples) {
        answers.a.push_back(example.start());
        answers.f.emplace_back(example.q.size(), 0.0);
        ProblemRun task;
        task.problem = example.problem();
        std::copy(example.total.begin(), example.total.end(), task.total);
        answers.tasks.push_back(task);
    }
    for (std::size_t i = 0; i < examples.size(); ++i)
        answers.tasks[i].a = answers.a[i].data(), answers.tasks[i].f = answers.f[i].data();
    return answers;
}

static double mass(const std::vector<double>& a) {
    double sum = 1;
    for (double v : a) sum += std::abs(v);
    return sum;
}

// The certificate tells the truth: it is that of the product in double precision.
static void check_true(const Example& example, const Answers& answers, std::size_t i, const std::vector<double>& matrix,
                       Index n, double tol) {
    const ProblemRun& task = answers.tasks[i];
    const auto& a = answers.a[i];
    const auto exact = naive::product(task.problem, matrix, n, a.data());
    const double size = mass(a);
    CHECK(task.begun && task.finished);
    CHECK(example.feasible(a));
    CHECK(task.solved.status == Status::converged);
    CHECK(task.certificate.violation <= tol);
    // Single precision may add what it cannot rule out, a small part of the tolerance.
    const double violation = naive::violation(task.problem, a.data(), exact.data());
    CHECK(task.certificate.violation >= violation - 1e-12 * size);
    CHECK(task.certificate.violation <= violation + 1e-12 * size + (task.bits == 32 ? 0.1 * tol : 0.0));
    CHECK_CLOSE(task.certificate.dual, -naive::objective(task.problem, a.data(), exact.data()),
                task.bits == 32 ? 2e-6 : 1e-13, size * size);
    CHECK(task.certificate.primal >= task.certificate.dual - (task.bits == 32 ? 2e-6 : 1e-13) * size * size);
    for (std::size_t p = 0; p < exact.size(); ++p)
        CHECK_CLOSE(answers.f[i][p], exact[p], task.bits == 32 ? 2e-6 : 1e-13, size);
}

static void tiny() {
    for (unsigned seed = 1; seed <= 4; ++seed)
        for (Index n : {3, 5})
            for (bool single : {false, true}) {
                const Data data(n, 2, 1.0, seed);
                const auto matrix = data.matrix();
                std::vector<Example> examples;
                for (const Example& example : data.every_kind(4))
                    if (example.count() <= 6) examples.push_back(example);
                const double tol = single ? 1e-5 : 1e-10;
                Settings settings;
                settings.tol = tol;
                Answers answers = ready(examples);
                solve(data.matrices(single), answers.tasks, settings);
                for (std::size_t i = 0; i < examples.size(); ++i) {
                    check::context = examples[i].name + " of " + std::to_string(n);
                    check_true(examples[i], answers, i, matrix, n, tol);
                    std::vector<double> exact;
                    const double best =
                        naive::minimum(examples[i].problem(), examples[i].total.data(), matrix, n, exact);
                    CHECK_CLOSE(-answers.tasks[i].certificate.dual, best, tol + (single ? 2e-6 : 1e-12),
                                mass(exact) * mass(exact));
                }
            }
}

// Samples in classes, each pair of classes a problem.
static std::vector<Example> pairs_of_classes(const Data& data, Index classes) {
    std::vector<Example> examples;
    const Index each = data.n / classes;
    for (Index c = 0; c < classes; ++c)
        for (Index e = 0; e < c; ++e) {
            std::vector<double> y;
            std::vector<Index> sample;
            for (Index i = 0; i < each; ++i) y.push_back(1), sample.push_back(e * each + i);
            for (Index i = 0; i < each; ++i) y.push_back(-1), sample.push_back(c * each + i);
            examples.push_back(problems::hinge(y, 3));
            examples.back().sample = sample;
        }
    return examples;
}

// The same whatever the number of threads, and true.
static void together(const Data& data, const std::vector<Example>& examples, std::size_t budget, const char* what) {
    const auto matrix = data.matrix();
    for (bool single : {false, true}) {
        check::context = std::string(what) + (single ? ", single" : ", double");
        std::vector<Answers> runs;
        for (int threads : {1, 2, 3}) {
            set_thread_count(threads);
            Settings settings;
            settings.budget = budget;
            runs.push_back(ready(examples));
            solve(data.matrices(single), runs.back().tasks, settings);
            CHECK(runs.back().a == runs[0].a);
            CHECK(runs.back().f == runs[0].f);
        }
        for (std::size_t i = 0; i < examples.size(); ++i) {
            check_true(examples[i], runs[0], i, matrix, data.n, 1e-3);
            CHECK(runs[0].tasks[i].bits == (single && std::isfinite(examples[i].upper[0]) ? 32 : 64));
        }
    }
    set_thread_count(2);
}

// Problems too large for one block, with memory for some of their rows: the same whatever the number of threads, though
// the threads share that memory.
static void little_memory() {
    check::context = "little memory";
    const Data data(2100, 45, 1.0, 6);
    std::vector<Example> examples;
    for (double C : {0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}) examples.push_back(problems::hinge(data.labels, C));
    std::vector<Answers> runs;
    for (int threads : {1, 3}) {
        set_thread_count(threads);
        Settings settings;
        settings.budget = std::size_t(38) << 20; // a block takes 32 of it
        runs.push_back(ready(examples));
        solve(data.matrices(false), runs.back().tasks, settings);
    }
    CHECK(runs[0].a == runs[1].a);
    CHECK(runs[0].f == runs[1].f);
    set_thread_count(2);
}

// Problems that would be solved by active sets if the memory of their thread allowed it: it must not matter. What one
// thread has to itself allows it, half of that does not.
static void vast_together() {
    check::context = "vast problems, each on a thread";
    const Data data(2600, 4, 1.0, 19);
    std::vector<Example> examples;
    for (Index c = 0; c < 5; ++c) {
        std::vector<double> labels;
        for (Index i = 0; i < data.n; ++i) labels.push_back(i % 5 == c ? 1 : -1);
        examples.push_back(problems::hinge(labels, 1.0));
    }
    std::vector<std::vector<double>> first;
    for (int threads : {1, 2, 3}) {
        set_thread_count(threads);
        const Matrices matrices = data.matrices(true);
        Answers answers = ready(examples);
        Settings settings;
        settings.vast = 2100;
        settings.budget =
            matrices.single->bytes() + 2 * MemoryPlan<float>(*matrices.single, answers.tasks[0].problem).taken() + 100;
        solve(matrices, answers.tasks, settings);
        if (first.empty()) first = answers.a;
        CHECK(answers.a == first);
    }
    set_thread_count(2);
}

// Coefficients so large that single precision does not reach the tolerance: it is tried, and the rest is double.
static void single_is_not_enough() {
    check::context = "beyond single precision";
    const Data data(600, 2, 2.0, 7);
    const auto matrix = data.matrix();
    for (double C : {0.5, 300.0, 3000.0}) {
        const std::vector<Example> examples{problems::hinge(data.labels, C)};
        Answers answers = ready(examples);
        Settings settings;
        settings.tol = C > 1 ? 1e-5 : 1e-3;
        solve(data.matrices(true), answers.tasks, settings);
        const ProblemRun& task = answers.tasks[0];
        CHECK(task.bits == (C > 1 ? 64 : 32));
        CHECK(task.finished && task.certificate.violation <= settings.tol);
        const auto exact = naive::product(task.problem, matrix, data.n, answers.a[0].data());
        CHECK_CLOSE(task.certificate.violation, naive::violation(task.problem, answers.a[0].data(), exact.data()),
                    1e-13, mass(answers.a[0]));
        // A limit on the steps holds for both precisions together.
        Answers few = ready(examples);
        settings.max_steps = 40;
        solve(data.matrices(true), few.tasks, settings);
        CHECK(few.tasks[0].solved.steps == 40 && few.tasks[0].solved.status == Status::step_limit);
        CHECK(few.tasks[0].finished && examples[0].feasible(few.a[0]));
    }
}

// Hard margins: separable samples have a solution; samples of both classes in one place have none.
static void hard_margins() {
    for (Index n : {20, 400, 2500}) {
        Data data(n, 3, 0.0, 9);
        for (Index i = 0; i < n; ++i) { // two halves, apart
            const double sign = i % 2 ? -1 : 1;
            data.labels[std::size_t(i)] = sign;
            data.x[std::size_t(3 * i)] = sign * (1 + std::abs(data.x[std::size_t(3 * i)]));
        }
        for (bool separable : {true, false}) {
            check::context = "hard margin of " + std::to_string(n) + (separable ? ", separable" : ", not separable");
            if (!separable)
                for (Index k = 0; k < 3; ++k) data.x[std::size_t(k)] = data.x[std::size_t(3 + k)];
            const std::vector<Example> examples{problems::hinge(data.labels, INFINITY)};
            Answers answers = ready(examples);
            solve(data.matrices(true), answers.tasks, Settings{});
            const ProblemRun& task = answers.tasks[0];
            CHECK(task.finished && task.bits == 64);
            CHECK(examples[0].feasible(answers.a[0]));
            CHECK(std::isfinite(task.certificate.dual) && std::isfinite(task.certificate.primal));
            if (!separable) {
                CHECK(task.solved.status == Status::unbounded);
                continue;
            }
            CHECK(task.solved.status == Status::converged && task.certificate.violation <= 1e-3);
            for (std::size_t i = 0; i < data.labels.size(); ++i) // every sample is on its side
                CHECK(data.labels[i] * (answers.f[0][i] + task.certificate.bias[0]) >= 1 - 2e-3);
        }
    }
    // Samples that no line separates, though none coincide.
    check::context = "no line separates";
    const std::vector<double> x{0, 0, 1, 1, 0, 1, 1, 0}, labels{1, 1, -1, -1};
    Matrices matrices{nullptr, formula_gram<double>(naive::dense(x, 4, 2), Formula{Reduction::dot, {}, 0.0}, {}, 0.0)};
    const std::vector<Example> examples{problems::hinge(labels, INFINITY)};
    Answers answers = ready(examples);
    solve(matrices, answers.tasks, Settings{});
    CHECK(answers.tasks[0].solved.status == Status::unbounded);
}

// Told to stop by one of the reports, or interrupted: what has been begun is feasible and its f is its own.
static void stopped_and_interrupted() {
    const Data data(1500, 3, 1.0, 13);
    const auto matrix = data.matrix();
    std::vector<Example> examples = pairs_of_classes(data, 5);
    examples.push_back(problems::one_class(std::size_t(data.n), 0.2));
    const auto check_all = [&](const Answers& answers) {
        for (std::size_t i = 0; i < examples.size(); ++i) {
            CHECK(examples[i].feasible(answers.a[i]));
            if (!answers.tasks[i].begun) continue;
            const auto exact = naive::product(examples[i].problem(), matrix, data.n, answers.a[i].data());
            for (std::size_t p = 0; p < exact.size(); ++p)
                CHECK_CLOSE(answers.f[i][p], exact[p], 2e-6, mass(answers.a[i]));
        }
    };
    check::context = "stopped";
    Settings settings;
    int reports = 0;
    settings.progress = [&](const Progress& progress) {
        CHECK(progress.problem >= 0 && progress.problem < Index(examples.size()));
        return ++reports == 4;
    };
    Answers stopped = ready(examples);
    solve(data.matrices(true), stopped.tasks, settings);
    CHECK(reports == 4); // nobody is asked once it is said
    int still = 0;
    for (const ProblemRun& task : stopped.tasks) {
        CHECK(task.finished);
        still += task.solved.status == Status::stopped;
    }
    CHECK(still >= int(examples.size()) - 4);
    check_all(stopped);

    check::context = "interrupted";
    const Matrices matrices = data.matrices(true);
    matrices.single->diagonal(0);
    matrices.exact->diagonal(0);
    settings.progress = [&](const Progress& progress) -> bool {
        if (progress.problem == 3) throw Interrupted();
        return false;
    };
    Answers interrupted = ready(examples);
    CHECK_THROWS(Interrupted, solve(matrices, interrupted.tasks, settings));
    CHECK(!interrupted.tasks[3].finished);
    check_all(interrupted);
    // And taken up again from there.
    settings.progress = nullptr;
    for (ProblemRun& task : interrupted.tasks) task.finished = false, task.solved = {};
    solve(matrices, interrupted.tasks, settings);
    for (std::size_t i = 0; i < examples.size(); ++i) check_true(examples[i], interrupted, i, matrix, data.n, 1e-3);
}

int main() {
    set_thread_count(2);
    tiny();
    const Data small(660, 3, 1.0, 5);
    together(small, pairs_of_classes(small, 6), std::size_t(100) << 20, "pairs of classes");
    together(small, pairs_of_classes(small, 6), 0, "pairs of classes, no memory");
    together(small, small.every_kind(2), std::size_t(100) << 20, "all kinds");
    little_memory();
    vast_together();
    single_is_not_enough();
    hard_margins();
    stopped_and_interrupted();
    return check::finish();
}
