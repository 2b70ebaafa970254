#include "solvers/solve.hpp"

#include "solvers/exact_products.hpp"
#include "solvers/memory_plan.hpp"
#include "solvers/product_errors.hpp"
#include "solvers/progress.hpp"
#include "solvers/selection.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

namespace mercer {
namespace {

// Rounding errors are as often up as down, and a few per cent of their bound: their sum grows like the root of the
// sum of squares. Single precision is tried if that is within tol for all coefficients but a few, such as those of
// samples that are far larger than the others: if these come to matter, double precision goes on from there.
constexpr double kUsual = 0.005, kFew = 0.01;
bool single_may_do(const Problem& problem, const Gram<float>& single, double tol) {
    if (problem.count <= kTiny && single.size() <= 4 * kTiny)
        return false; // a few of many samples may share their rows
    const EntryErrors& errors = single.errors();
    std::vector<double> squares(std::size_t(errors.levels())), count(squares.size());
    for (Index p = 0; p < problem.count; ++p) {
        const auto level = std::size_t(errors.level(problem.sample_of(p)));
        const double bound = std::max(std::abs(problem.lower[p]), std::abs(problem.upper[p]));
        squares[level] += bound * bound, count[level] += 1;
    }
    double wrong = 0;
    for (int b = 0; b < errors.levels(); ++b) {
        double sum = 0;
        for (int c = 0; c < errors.levels(); ++c)
            if (squares[std::size_t(c)] > 0)
                sum += errors.between(b, c) * errors.between(b, c) * squares[std::size_t(c)];
        if (!(kUsual * std::sqrt(sum) <= tol)) wrong += count[std::size_t(b)]; // an infinite bound or error, too
    }
    return wrong <= kFew * double(problem.count);
}

// Of tol: what is added to the violation as it is, and what the solver may make room for.
constexpr double kNegligible = 0.05, kRoom = 0.6;

// What rounding may have done to the objectives: at the optimum both move by the same a'Ea / 2, E being the errors of
// the matrix. This part of their bound times a'a is about five standard deviations of that where they are independent,
// and twice the most that was seen.
constexpr double kDoubt = 0.03;
// The same where entries are rounded once: an error is as likely as any other within its bound, and two mirrored ones
// are one.
constexpr double kDoubtRounded = 2;

// At least this of k(x, x), which bounds the entries: where the bound on the errors is as small as they are, as in
// sums with a large constant, its part is too little. A tenth more than the most that was seen.
constexpr double kRounded = 1.5e-7;

// What roundings that are not independent may add to every entry, of its size: about one in single precision.
constexpr double kBiased = 1e-7;

// The whole matrix of few samples is worth keeping if others will want it, too.
template <class T> bool worth_whole(const MatrixMemory& memory, const Gram<T>& gram, std::size_t budget) {
    const auto n = std::size_t(gram.size());
    return memory.lasting && gram.size() <= kWhole && n * n * sizeof(T) <= budget && gram.cost() > costs::kRead;
}

// The common rows of these runs, those that there are already if they are of the same.
template <class T>
void share(MatrixMemory& memory, const Gram<T>& gram, const std::vector<Run>& runs, std::size_t budget) {
    auto& common = memory.common<T>();
    if (common && common->runs() == runs && common->bytes() <= budget) return;
    common.reset(); // its memory first
    common = std::make_unique<CommonRows<T>>(gram, runs, budget);
}

// What is lent to a problem that is solved alone, and what that leaves of the budget. What is known already must not
// change the steps: rows that are of no use to it, of the other precision or if it is not of all samples, stay only
// beside all that this solve could make use of.
template <class T>
LentRows<T> lend(MatrixMemory& memory, const Gram<T>& gram, const Problem& problem, Settings& settings) {
    using Other = std::conditional_t<std::is_same_v<T, float>, double, float>;
    const auto n = std::size_t(gram.size());
    const std::size_t free = settings.budget - std::min(settings.budget, gram.bytes());
    const bool whole = worth_whole(memory, gram, free / 2), all = problem.of_all(gram.size());
    const std::size_t useful = 2 * gram.bytes() + MemoryPlan<T>(gram, problem).taken() +
                               n * KeptRows<T>::bytes_each(gram.size()) + (whole ? n * n * sizeof(T) : 0);
    if (memory.bytes<Other>() + useful > settings.budget) memory.drop<Other>();
    settings.budget -= memory.bytes<Other>();
    if (!all && memory.rows<T>().bytes() + useful > settings.budget) memory.rows<T>().drop();
    if (!all) settings.budget -= memory.rows<T>().bytes();
    if (whole)
        share(memory, gram, {{0, gram.size()}}, free / 2);
    else
        memory.common<T>().reset();
    settings.budget -= memory.common_bytes<T>();
    return {memory.common<T>().get(), all ? &memory.rows<T>() : nullptr, all && memory.lasting};
}

// How far the violation and the objectives may be off if the entries of the matrix are by these errors.
struct Doubt {
    double violation = 0, objectives = 0;

    Doubt() = default;
    // Where all of f, or a part of it, is from the matrix in single precision.
    Doubt(const Matrices& matrices, const ProblemRun& run) {
        const EntryErrors& entries = matrices.single->errors();
        const double part = matrices.single->rounded() ? kDoubtRounded : kDoubt;
        const ProductErrors errors(entries, run.problem, run.a);
        violation = 2 * errors.largest();
        if (violation == 0) return;
        objectives = part * errors.independent();
        double energy = 0;
        for (Index p = 0; p < run.problem.count; ++p) {
            if (run.a[p] == 0) continue;
            const Index sample = run.problem.sample_of(p);
            const int level = entries.level(sample);
            const double diagonal = std::abs(matrices.exact->diagonal(sample));
            const double more = kRounded * diagonal - part * entries.between(level, level);
            objectives += std::max(0.0, more) * run.a[p] * run.a[p];
            energy += run.a[p] * run.f[p];
        }
        objectives += 0.5 * kBiased * std::abs(energy);
    }
};

Certificate certify(const ProblemRun& run) { return certify(run.problem, run.a, run.f, run.total); }
Certificate certify(const ProblemRun& run, const Doubt& doubt) {
    Certificate result = certify(run);
    result.violation += doubt.violation;
    result.primal += doubt.objectives;
    result.dual -= doubt.objectives;
    return result;
}

// In double precision, too, sums of large numbers are rounded. Of f_p that is some of its last digits' share of
// sqrt(K_pp) sum_r sqrt(K_rr) |a_r|, which bounds the sum of |K_pr a_r|; it is added where it could count.
void doubt_rounding(const Gram<double>& exact, ProblemRun& run, double tol) {
    const Problem& problem = run.problem;
    std::vector<double> error(std::size_t(problem.count));
    double sum = 0, squares = 0, largest = 0;
    for (Index p = 0; p < problem.count; ++p) {
        const double root = std::sqrt(std::abs(exact.diagonal(problem.sample_of(p)))), term = root * std::abs(run.a[p]);
        error[std::size_t(p)] = root;
        sum += term, squares += term * term, largest = std::max(largest, root);
    }
    constexpr double kDigits = 2 * std::numeric_limits<double>::epsilon();
    if (const double doubt = kDigits * sum * std::sqrt(squares); doubt > kClose * std::abs(run.certificate.dual))
        run.certificate.primal += doubt, run.certificate.dual -= doubt;
    if (2 * kDigits * largest * sum <= kNegligible * tol) return;
    Slopes slopes;
    slopes.find(problem, run.a, run.f, [](Index p) { return p; });
    for (int g = 0; g < problem.groups; ++g) {
        double highest = slopes.highest[g], lowest = slopes.lowest[g];
        for (Index p = 0; p < problem.count; ++p) {
            if (problem.group_of(p) != g) continue;
            const double s = slopes.slope[std::size_t(p)], off = kDigits * error[std::size_t(p)] * sum;
            highest = std::max(highest, s + problem.rise(p, run.a[p]) + off);
            lowest = std::min(lowest, s + problem.fall(p, run.a[p]) - off);
        }
        if (std::isfinite(highest - lowest))
            run.certificate.violation = std::max(run.certificate.violation, highest - lowest);
    }
}

// Certifies what was found in single precision, made exact as far as the certificate needs it. Says whether that is the
// end.
bool judge(const Matrices& matrices, Doubt doubt, std::optional<ExactProducts>& products, ProblemRun& run,
           const Settings& settings) {
    const double tol = settings.tol;
    const EntryErrors& errors = matrices.single->errors();
    const bool held = matrices.single->row(0); // then room was made for the error where that was possible
    run.plain = true;
    const auto exact = [&]() -> ExactProducts& {
        if (!products) products.emplace(*matrices.exact, run.problem, run.a, run.f);
        return *products;
    };
    // The objectives first: what they need is computed at half the price.
    if (doubt.objectives > settings.close * std::abs(dual(run.problem, run.a, run.f))) {
        exact().support();
        doubt.objectives = 0;
        run.plain = false;
    }
    // An error too small to matter is added to the violation; any other is removed where it could count.
    if (doubt.violation > kNegligible * tol && !(held && run.solved.violation + doubt.violation <= tol)) {
        exact().violators(errors);
        doubt.violation = 0;
        run.plain = false;
    }
    run.certificate = certify(run, doubt);
    doubt_rounding(*matrices.exact, run, tol);
    run.finished = run.certificate.violation <= tol || run.solved.status == Status::step_limit ||
                   run.solved.status == Status::stopped;
    return run.finished;
}

template <class T>
void solve_in(const Gram<T>& gram, MatrixMemory& memory, ProblemRun& run, Settings settings, Index number) {
    run.bits = 8 * int(sizeof(T)); // first, as an f that is known must not be certified for more than it is
    LentRows<T> lent =
        settings.together ? LentRows<T>{memory.common<T>().get()} : lend(memory, gram, run.problem, settings);
    if constexpr (std::is_same_v<T, float>) lent.block = run.block.get();
    decompose(gram, lent, run.problem, run.total, settings, run.solved, run.begun, run.a, run.f, number);
}

void solve_in_turn(const Matrices& matrices, MatrixMemory& memory, ProblemRun& run, const Settings& settings,
                   Index number) {
    const Problem& problem = run.problem;
    Settings rest = settings;
    if (matrices.single && single_may_do(problem, *matrices.single, settings.tol)) {
        solve_in(*matrices.single, memory, run, settings, number);
        // What rounding may have done to the violation is made room for where steps are cheap.
        Doubt doubt(matrices, run);
        if (matrices.single->row(0) && run.solved.status == Status::converged &&
            run.solved.violation + doubt.violation > settings.tol && doubt.violation <= kRoom * settings.tol) {
            Settings finer = settings;
            finer.tol = settings.tol - doubt.violation;
            if (finer.max_steps >= 0) finer.max_steps = std::max<Index>(0, finer.max_steps - run.solved.steps);
            solve_in(*matrices.single, memory, run, finer, number);
            doubt = Doubt(matrices, run);
        }
        std::optional<ExactProducts> products;
        if (judge(matrices, doubt, products, run, settings)) return;
        if (!products) products.emplace(*matrices.exact, problem, run.a, run.f);
        products->all();
        run.plain = false;
    } else {
        run.begun = false; // f may be known, but not to these digits
    }
    if (rest.max_steps >= 0) rest.max_steps = std::max<Index>(0, rest.max_steps - run.solved.steps);
    if (matrices.single) rest.budget -= std::min(rest.budget, matrices.single->bytes()); // it may be there still
    solve_in(*matrices.exact, memory, run, rest, number);
    run.certificate = certify(run);
    doubt_rounding(*matrices.exact, run, settings.tol);
    run.finished = true;
}

// Whatever happens, a certificate is as true as what is known by then: nothing, before f is.
void solve_one(const Matrices& matrices, MatrixMemory& memory, ProblemRun& run, const Settings& settings,
               Index number) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    run.begun = run.known;
    run.finished = run.plain = false;
    run.solved = {};
    run.certificate = {infinity, -infinity, infinity, {}};
    try {
        solve_in_turn(matrices, memory, run, settings, number);
        memory.computed += run.solved.computed;
    } catch (...) {
        memory.computed += run.solved.computed;
        if (run.begun) {
            run.certificate = certify(run, run.bits == 32 ? Doubt(matrices, run) : Doubt());
            doubt_rounding(*matrices.exact, run, settings.tol);
        }
        throw;
    }
}

void begin_feasibly(ProblemRun& run) { run.known = !make_feasible(run.problem, run.total, run.a) && run.known; }

// All problems that a run becomes.
void solve_all(const Matrices& matrices, MatrixMemory& memory, ProblemRun& run, const Settings& settings,
               Index number) {
    for (;;) {
        solve_one(matrices, memory, run, settings, number);
        if (!run.next || !run.next(run)) return;
        begin_feasibly(run);
    }
}

// What each thread has where each solves problems of its own: as many threads as find room for the largest, and the
// rest of the memory for what the problems have in common and for rows, in equal parts for the threads, each of which
// counts the packed samples as its own.
struct Shares {
    Settings own;
    int threads;

    Shares(const Matrices& matrices, MatrixMemory& memory, const std::vector<const Problem*>& problems,
           const Settings& settings)
        : own(settings) {
        own.together = true;
        const std::size_t packed = matrices.single ? matrices.single->bytes() : matrices.exact->bytes();
        bool single = bool(matrices.single);
        for (const Problem* problem : problems)
            single = single && single_may_do(*problem, *matrices.single, settings.tol);
        const MemoryPlan<double> exact(*matrices.exact, *problems.front());
        const std::size_t each =
            single ? MemoryPlan<float>(*matrices.single, *problems.front()).taken() : exact.taken();
        const std::size_t room = own.budget - std::min(own.budget, packed);
        // What any number of threads leaves for a working set: it decides the steps.
        const std::size_t block = std::min(room, each);
        own.block = block - std::min(block, exact.beside());
        threads = std::clamp(int(std::min<std::size_t>(room / (each + 1), 1 << 20)), 1, thread_count());
        const std::size_t free = room - std::min(room, std::size_t(threads) * each);
        memory.rows<float>().drop(), memory.rows<double>().drop(); // each thread has some of its own
        if (matrices.single)
            memory.common<double>().reset();
        else
            memory.common<float>().reset();
        const std::size_t common = matrices.single ? share_runs(*matrices.single, memory, problems, free)
                                                   : share_runs(*matrices.exact, memory, problems, free);
        own.budget = packed + (room - std::min(room, common)) / std::size_t(threads);
    }

  private:
    template <class T> static std::size_t share_runs(const Gram<T>& gram, MatrixMemory& memory,
                                                     const std::vector<const Problem*>& problems, std::size_t free) {
        share(memory, gram,
              worth_whole(memory, gram, free) ? std::vector<Run>{{0, gram.size()}} : common_runs(gram, problems, free),
              free);
        return memory.common_bytes<T>();
    }
};

} // namespace

void solve(const Matrices& matrices, std::vector<ProblemRun>& runs, const Settings& wanted) {
    Settings settings = wanted;
    settings.progress = one_at_a_time(wanted.progress);
    double work = 0;
    for (ProblemRun& run : runs) {
        begin_feasibly(run);
        work += double(run.problem.count) * double(run.problem.count);
    }
    // To wake another thread takes longer than to solve what is tiny in all.
    const OnThisThread tiny(work <= double(kTiny) * double(kTiny));
    // A problem that is much of the work gets all threads; the others one each. (The number of threads must not
    // matter.)
    constexpr double kMuch = 4;
    std::vector<std::size_t> alone, together;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const double own = double(runs[i].problem.count) * double(runs[i].problem.count);
        (own * kMuch > work ? alone : together).push_back(i);
    }
    MatrixMemory own;
    own.lasting = matrices.memory.lasting; // the steps are those of a matrix that nobody else uses
    const MatrixMemory::Use use(matrices.memory);
    MatrixMemory& memory = use ? matrices.memory : own;
    for (std::size_t i : alone) solve_all(matrices, memory, runs[i], settings, Index(i));
    std::stable_sort(together.begin(), together.end(),
                     [&](std::size_t i, std::size_t j) { return runs[i].problem.count > runs[j].problem.count; });
    if (together.empty()) return;
    std::vector<const Problem*> problems;
    for (std::size_t i : together) problems.push_back(&runs[i].problem);
    const Shares shares(matrices, memory, problems, settings);
    parallel(
        long(together.size()),
        [&](long k) {
            const std::size_t i = together[std::size_t(k)];
            solve_all(matrices, memory, runs[i], shares.own, Index(i));
        },
        shares.threads);
}

} // namespace mercer
