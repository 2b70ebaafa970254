// Decomposition against a naive solver and against itself: all kinds of problems, both precisions, samples in any
// pieces, any memory, any number of threads; limits, stops and interruptions leave coefficients that are feasible and
// a product that belongs to them.
#include "check.hpp"
#include "problems.hpp"
#include "threads/pool.hpp"

#include <chrono>
#include <numeric>
#include <thread>

using namespace mercer;
using problems::Data;
using problems::Example;

template <class T> constexpr double kEntry = sizeof(T) == 4 ? 2e-6 : 1e-14; // the error of an entry of the matrix

// Problems of more coefficients than this, and too many for one block, are solved by active sets.
static Index g_vast = kVast;
static Settings usual() {
    Settings settings;
    settings.vast = g_vast;
    return settings;
}

struct Answer {
    std::vector<double> a, f;
    Solved solved;
    bool started = false;
    bool operator==(const Answer& other) const { return a == other.a && f == other.f; }
};

template <class T> static Answer run(const Gram<T>& gram, const Example& example, const Settings& settings,
                                     const std::vector<double>* start = nullptr) {
    Answer answer{start ? *start : example.start(), std::vector<double>(example.q.size(), -7.0), {}};
    decompose<T>(gram, {}, example.problem(), example.total.data(), settings, answer.solved, answer.started,
                 answer.a.data(), answer.f.data());
    CHECK(answer.started);
    return answer;
}

static double mass(const std::vector<double>& a) {
    double sum = 1;
    for (double v : a) sum += std::abs(v);
    return sum;
}

// Feasible, and f is the product with a.
template <class T>
static void check_consistent(const Example& example, const Answer& answer, const std::vector<double>& matrix, Index n) {
    CHECK(example.feasible(answer.a));
    const auto exact = naive::product(example.problem(), matrix, n, answer.a.data());
    std::size_t worst = 0;
    for (std::size_t p = 0; p < exact.size(); ++p)
        if (!(std::abs(answer.f[p] - exact[p]) <= std::abs(answer.f[worst] - exact[worst]))) worst = p;
    CHECK_CLOSE(answer.f[worst], exact[worst], kEntry<T>, mass(answer.a));
}

// What moved took steps, and these are counted.
static void check_counted(const Example& example, const Answer& answer) {
    const auto start = example.start();
    Index moved = 0;
    for (std::size_t p = 0; p < start.size(); ++p) moved += answer.a[p] != start[p];
    CHECK(2 * answer.solved.steps >= moved);
}

template <class T> static void against(const Gram<T>& gram, const Example& example, const std::vector<double>& matrix,
                                       Index n, double best, double tol, std::size_t budget = 1 << 24) {
    check::context = example.name + " of " + std::to_string(example.count()) + ", " + std::to_string(8 * sizeof(T)) +
                     " bits, budget " + std::to_string(budget);
    Settings settings = usual();
    settings.tol = tol;
    settings.budget = budget;
    const Answer answer = run(gram, example, settings);
    check_consistent<T>(example, answer, matrix, n);
    CHECK(answer.solved.status == Status::converged);
    CHECK(answer.solved.violation <= tol);
    const double size = mass(answer.a);
    const Problem problem = example.problem();
    CHECK_CLOSE(naive::violation(problem, answer.a.data(), answer.f.data()), answer.solved.violation, 1e-12, size);
    // Each unit of coefficients that may still move is worth at most the violation.
    const double value = naive::objective(problem, answer.a.data(), answer.f.data());
    CHECK(value >= best - kEntry<T> * size * size);
    CHECK(value <= best + 2 * tol * size + kEntry<T> * size * size);

    // Nothing is left to do from the solution, whether f is given or not.
    settings.tol = 2 * tol;
    const Answer again = run(gram, example, settings, &answer.a);
    CHECK(again.solved.steps == 0 && again.a == answer.a);
    Answer given = answer;
    given.solved = {};
    decompose<T>(gram, {}, problem, example.total.data(), settings, given.solved, given.started, given.a.data(),
                 given.f.data());
    CHECK(given.solved.steps == 0 && given == answer);
}

template <class T> static void tiny() {
    for (unsigned seed = 1; seed <= 3; ++seed)
        for (Index n : {3, 5}) {
            const Data data(n, 2, 1.0, seed);
            const auto matrix = data.matrix();
            const auto gram = data.gram<T>();
            for (const Example& example : data.every_kind(4)) {
                if (example.count() > 6) continue;
                std::vector<double> exact;
                const double best = naive::minimum(example.problem(), example.total.data(), matrix, n, exact);
                against(*gram, example, matrix, n, best, sizeof(T) == 4 ? 1e-5 : 1e-10);
            }
        }
}

// The samples of a problem in one run, two, or more than four, out of order, and repeated.
static std::vector<std::vector<Index>> selections(Index n) {
    auto part = [](Index first, Index last) {
        std::vector<Index> range(std::size_t(last - first));
        std::iota(range.begin(), range.end(), first);
        return range;
    };
    auto join = [](std::vector<Index> a, const std::vector<Index>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    std::vector<Index> scattered, repeated = part(0, n / 2);
    for (Index i = 0; i < n; ++i)
        if (i % 7) scattered.push_back((i * 5) % n);
    std::sort(scattered.begin(), scattered.end());
    scattered.erase(std::unique(scattered.begin(), scattered.end()), scattered.end());
    return {part(n / 9, n - n / 8), join(part(n / 2, n), part(0, n / 3)),
            join(join(part(0, n / 5), part(n / 4, n / 2)), part(n / 2 + 3, n - 3)), scattered,
            join(repeated, part(n / 4, n))};
}

// The same problem on some of the samples.
static Example on(const std::vector<Index>& samples, const std::vector<double>& y, bool labels) {
    std::vector<double> part;
    for (Index s : samples) part.push_back(y[std::size_t(s)]);
    Example example = labels ? problems::hinge(part, 2) : problems::epsilon_insensitive(part, 2, 0.1);
    example.name += " on " + std::to_string(samples.size()) + " samples from " + std::to_string(samples[0]);
    example.sample = samples;
    return example;
}

// Every kind and every selection, small enough to be a block of its own (n = 300) and larger; against naive SMO.
static void against_naive_smo(Index n, double tol) {
    const Data data(n, 4, 0.5, 21);
    const auto matrix = data.matrix();
    const auto single = data.gram<float>();
    const auto exact = data.gram<double>();
    std::vector<Example> examples;
    for (const Example& example : data.every_kind(2))
        if (n < 1000 || example.count() == n) examples.push_back(example);
    for (const auto& samples : selections(n)) {
        examples.push_back(on(samples, data.labels, true));
        if (n < 1000) examples.push_back(on(samples, data.values, false));
    }
    for (const Example& example : examples) {
        std::vector<double> a = example.start();
        const Problem problem = example.problem();
        naive::smo(problem, matrix, n, tol / 4, a.data());
        const double best = naive::objective(problem, a.data(), naive::product(problem, matrix, n, a.data()).data()) -
                            tol * mass(a) / 4;
        against(*exact, example, matrix, n, best, tol);
        against(*single, example, matrix, n, best, tol);
    }
}

// A kernel that is dear enough that its rows are kept, and gathered from for the next block.
template <class T> static void any_memory(Index d) {
    const Index n = 2100;
    const auto x = naive::samples<double>(Reduction::dot, n * d, 1.0, 5);
    std::vector<double> labels;
    for (Index i = 0; i < n; ++i)
        labels.push_back(x[std::size_t(i * d)] + 0.5 * x[std::size_t(i * d + 1)] > 0 ? 1 : -1);
    const auto gram = formula_gram<T>(
        naive::dense(x, n, d),
        Formula{Reduction::l1, {{Op::affine, -0.5 / double(d), 0.0, {}}, {Op::exp, 1.0, 0.0, {}}}, 0.0}, {}, 2e-6);
    std::vector<double> matrix(std::size_t(n * n));
    formula_gram<double>(
        naive::dense(x, n, d),
        Formula{Reduction::l1, {{Op::affine, -0.5 / double(d), 0.0, {}}, {Op::exp, 1.0, 0.0, {}}}, 0.0}, {}, 0.0)
        ->all()
        .fill_symmetric(matrix.data(), n);
    const Example example = problems::hinge(labels, 1);
    const std::size_t row = std::size_t(n) * sizeof(T),
                      taken = gram->bytes() + (sizeof(T) << 22) + std::size_t(n) * 152; // by a block and vectors
    std::vector<double> values;
    Index computed = 0;
    for (std::size_t budget :
         {std::size_t(0), taken + row / 2, taken + 3 * row, taken + 300 * row, taken + 3000 * row}) {
        check::context = "budget " + std::to_string(budget);
        Settings settings = usual();
        settings.budget = budget;
        const Answer answer = run(*gram, example, settings);
        CHECK(answer.solved.status == Status::converged);
        check_consistent<T>(example, answer, matrix, n);
        values.push_back(naive::objective(example.problem(), answer.a.data(), answer.f.data()));
        CHECK_CLOSE(values.back(), values[0], 2e-3, mass(answer.a));
        if (budget == 0) computed = answer.solved.computed;
        CHECK(answer.solved.computed <= computed);
        if (budget > taken + 1000 * row) CHECK(answer.solved.computed <= n);
    }
}

// To the last bit, with any number of threads and from run to run.
template <class T> static void any_threads(Index n, std::size_t budget) {
    const Data data(n, 40, 0.5, 31);
    Settings settings = usual();
    settings.budget = budget;
    for (const Example& example : {problems::hinge(data.labels, 5), on(selections(n)[3], data.values, false)}) {
        check::context = example.name + " with threads";
        std::vector<Answer> answers;
        for (int threads : {1, 2, 3, 2}) {
            set_thread_count(threads);
            answers.push_back(run(*data.gram<T>(), example, settings));
            CHECK(answers.back() == answers[0]);
            CHECK(answers.back().solved.steps == answers[0].solved.steps);
        }
    }
    set_thread_count(2);
}

template <class T> static void limits(Index n) {
    const Data data(n, 3, 0.5, 41);
    const auto matrix = data.matrix();
    const auto gram = data.gram<T>();
    for (const Example& example : {problems::hinge(data.labels, 10), problems::one_class(std::size_t(n), 0.4)}) {
        for (Index most : {0, 1, 7, 50}) {
            check::context = example.name + ", at most " + std::to_string(most) + " steps";
            Settings settings = usual();
            settings.tol = sizeof(T) == 4 ? 1e-4 : 1e-6;
            settings.max_steps = most;
            const Answer answer = run(*gram, example, settings);
            CHECK(answer.solved.status == Status::step_limit);
            CHECK(answer.solved.steps == most);
            check_consistent<T>(example, answer, matrix, n);
        }
        check::context = example.name + " stopped";
        Settings settings = usual();
        int reports = 0;
        settings.progress = [&](const Progress& progress) {
            CHECK(progress.violation > 0 && progress.gap >= 0);
            ++reports;
            return true;
        };
        const Answer answer = run(*gram, example, settings);
        CHECK(reports == 1 && answer.solved.status == Status::stopped);
        check_consistent<T>(example, answer, matrix, n);
    }
}

// The hook says stop when it is asked for the k-th time. It sleeps, so that it is asked whenever it may be.
template <class T> static void interrupted_by_the_hook(Index n) {
    const Data data(n, 3, 0.5, 51);
    const auto matrix = data.matrix();
    const auto gram = data.gram<T>();
    gram->diagonal(0);
    const Example example = problems::hinge(data.labels, 1000);
    Settings settings = usual();
    settings.tol = 1e-6;
    settings.max_steps = 100000;
    for (int stop : {1, 2, 4}) {
        check::context = "interrupted when asked " + std::to_string(stop) + " times";
        int asked = 0;
        set_interrupt_hook([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(55));
            return ++asked == stop;
        });
        Answer answer{example.start(), std::vector<double>(std::size_t(n), -7.0), {}};
        CHECK_THROWS(Interrupted, decompose<T>(*gram, {}, example.problem(), example.total.data(), settings,
                                               answer.solved, answer.started, answer.a.data(), answer.f.data()));
        set_interrupt_hook(nullptr);
        CHECK(asked == stop && answer.started);
        check_counted(example, answer);
        check_consistent<T>(example, answer, matrix, n);
    }
}

// A matrix that fails at its k-th use, as an interruption or an error of its own would make it.
template <class T, class Error> class Fragile final : public Gram<T> {
  public:
    Fragile(const Gram<T>& gram, int uses, double cost) : gram_(gram), uses_(uses), cost_(cost), all_(*this, nullptr) {}
    Index size() const override { return gram_.size(); }
    std::unique_ptr<Pairs<T>> between(const std::vector<Index>& rows,
                                      const std::vector<Index>& columns) const override {
        return std::make_unique<FragilePairs>(*this, gram_.between(rows, columns));
    }
    const Pairs<T>& all() const override { return all_; }
    double diagonal(Index i) const override { return gram_.diagonal(i); }
    std::size_t bytes() const override { return gram_.bytes(); }
    std::size_t bytes_each() const override { return gram_.bytes_each(); }
    double cost() const override { return cost_; }
    const EntryErrors& errors() const override { return gram_.errors(); }

  private:
    struct FragilePairs final : Pairs<T> {
        FragilePairs(const Fragile& gram, std::unique_ptr<Pairs<T>> pairs) : gram_(gram), own_(std::move(pairs)) {}
        void fill(const Index* index, Index first_row, Index rows, Index first_column, Index last_column, T* out,
                  Index stride) const override {
            use().fill(index, first_row, rows, first_column, last_column, out, stride);
        }
        void fill_symmetric(T* out, Index stride) const override { use().fill_symmetric(out, stride); }
        Index height(Index) const override { return 64; } // less than what is behind it hands out
        void stream(const Index* index, Index rows, Index first_column, Index last_column,
                    const typename Pairs<T>::Visit& visit, const typename Pairs<T>::Ready*) const override {
            use().stream(index, rows, first_column, last_column, visit);
        }
        const Pairs<T>& use() const {
            if (gram_.uses_-- <= 0) throw Error();
            return own_ ? *own_ : gram_.gram_.all();
        }
        const Fragile& gram_;
        std::unique_ptr<Pairs<T>> own_;
    };

    const Gram<T>& gram_;
    mutable std::atomic<int> uses_;
    double cost_;
    FragilePairs all_;
};

struct Broken : std::runtime_error {
    Broken() : std::runtime_error("broken") {}
};

template <class T, class Error> static void interrupted_anywhere(Index n, bool cold) {
    const Data data(n, 3, 0.5, 61);
    const auto matrix = data.matrix();
    const auto gram = data.gram<T>();
    const Example example = cold ? problems::hinge(data.labels, 10) : problems::one_class(std::size_t(n), 0.3);
    Settings settings = usual();
    settings.tol = 1e-4;
    int failures = 0;
    for (int uses = 0;; uses += 1 + uses / 4) {
        check::context = example.name + " of " + std::to_string(n) + " failing after " + std::to_string(uses) + " uses";
        const Fragile<T, Error> fragile(*gram, uses, g_vast == kVast ? 5 : 1); // rows are kept, or not
        Answer answer{example.start(), std::vector<double>(std::size_t(n), 0.0), {}};
        bool failed = false;
        try {
            decompose<T>(fragile, {}, example.problem(), example.total.data(), settings, answer.solved, answer.started,
                         answer.a.data(), answer.f.data());
        } catch (const Error&) {
            failed = true;
            ++failures;
        }
        check_counted(example, answer);
        if (answer.started)
            check_consistent<T>(example, answer, matrix, n);
        else
            CHECK(failed && !cold && answer.a == example.start()); // it came while the first product was being made
        if (!failed) break;
    }
    CHECK(failures > 3);
}

// Active sets that are themselves decomposed: many coefficients are free, and many samples belong to two of them.
template <class T> static void levels(Index n) {
    const Data data(n, 3, 4.0, 71);
    const auto gram = data.gram<T>();
    std::vector<Index> twice(static_cast<std::size_t>(n + n / 3));
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] = Index(i) % n;
    for (const Example& example : {problems::hinge(data.labels, 1), on(twice, data.values, false)}) {
        check::context = example.name + " in levels";
        Settings settings = usual();
        settings.tol = 1e-2;
        settings.vast = std::numeric_limits<Index>::max();
        const Answer two = run(*gram, example, settings);
        settings.vast = n - 1000;
        Index largest = 0;
        settings.progress = [&](const Progress& progress) {
            CHECK(progress.violation > 0 && progress.gap >= 0 && progress.count == example.count());
            largest = std::max(largest, progress.working);
            return false;
        };
        const Answer three = run(*gram, example, settings);
        CHECK(two.solved.status == Status::converged && three.solved.status == Status::converged);
        CHECK(largest > kWhole);
        CHECK(three.solved.rounds < two.solved.rounds);
        CHECK(example.feasible(three.a));
        const Problem problem = example.problem();
        const double a = naive::objective(problem, two.a.data(), two.f.data());
        const double b = naive::objective(problem, three.a.data(), three.f.data());
        CHECK_CLOSE(a, b, 2e-2, std::max(mass(two.a), mass(three.a)));
        CHECK_CLOSE(naive::violation(problem, three.a.data(), three.f.data()), three.solved.violation, 1e-12,
                    mass(three.a));
    }
}

int main() {
    set_thread_count(2);
    tiny<float>();
    tiny<double>();
    against_naive_smo(300, 1e-4);
    against_naive_smo(2500, 1e-3);
    any_memory<float>(100);
    any_memory<double>(50);
    any_threads<float>(2400, 0);
    any_threads<float>(2400, std::size_t(18) << 20);
    any_threads<double>(2400, std::size_t(200) << 20);
    any_threads<double>(700, 0);
    limits<float>(2400);
    limits<double>(500);
    interrupted_by_the_hook<float>(2400);
    interrupted_by_the_hook<double>(1000);
    interrupted_anywhere<float, Interrupted>(2200, true);
    interrupted_anywhere<double, Interrupted>(400, true);
    interrupted_anywhere<double, Interrupted>(2200, false);
    interrupted_anywhere<double, Broken>(2200, true);

    levels<float>(20000);
    g_vast = 0;
    against_naive_smo(2500, 1e-3);
    any_threads<float>(2400, 0);
    limits<float>(2400);
    interrupted_by_the_hook<float>(2400);
    interrupted_anywhere<double, Interrupted>(2200, true);
    interrupted_anywhere<double, Broken>(2200, false);
    return check::finish();
}
