// Programs over the matrices of several kernels: every instruction, blocks of any shape and order, both precisions, on
// every instruction set this machine has; all against the program run on one pair of samples at a time in long double.
#include "check.hpp"
#include "gram/gram.hpp"
#include "kernels/bounds.hpp"
#include "kernels/composition.hpp"
#include "kernels/isa.hpp"
#include "naive.hpp"
#include "threads/pool.hpp"

#include <cstring>
#include <numeric>

using namespace mercer;
using naive::Real;

template <class T> constexpr double kTolerance = sizeof(T) == 4 ? 2e-5 : 1e-13;

static const Index kRows = 301, kColumns = 523, kWidth = 21;

static Real value(const Program& program, const std::vector<Real>& parts, Index i, Index j, bool same) {
    std::vector<Real> stack;
    const auto pop = [&] {
        const Real top = stack.back();
        stack.pop_back();
        return top;
    };
    for (const Instruction& instruction : program.instructions) {
        const auto number = std::size_t(instruction.operand);
        const auto u = [&] { return Real(program.borders[number].of_x[std::size_t(i)]); };
        const auto v = [&] { return Real(program.borders[number].of_z[std::size_t(j)]); };
        switch (instruction.action) {
        case Action::part: stack.push_back(parts[number]); break;
        case Action::constant: stack.push_back(Real(instruction.value)); break;
        case Action::add: {
            const Real top = pop();
            stack.back() += top;
            break;
        }
        case Action::multiply: {
            const Real top = pop();
            stack.back() *= top;
            break;
        }
        case Action::steps: stack.back() = naive::apply(instruction.steps, stack.back()); break;
        case Action::multiply_borders:
            stack.back() *= u() * v();
            if (same && i == j && !program.borders[number].diagonal.empty())
                stack.back() = Real(program.borders[number].diagonal[std::size_t(i)]);
            break;
        case Action::subtract_borders: stack.back() -= u() + v(); break;
        case Action::inner_product: stack.back() = (u() + v() - stack.back()) / 2; break;
        }
    }
    return stack.back();
}

static std::vector<double> numbers(Index count, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(0.5, 1.5);
    std::vector<double> result(static_cast<std::size_t>(count));
    for (double& x : result) x = uniform(random);
    return result;
}

// The kernels of the parts; an inner product and squared distances among them.
static std::vector<Formula> formulas() {
    return {{Reduction::squared_distance, {{Op::exp, -0.02}}, 0.02},
            {Reduction::dot, {{Op::affine, 0.1, 1}, {Op::integer, 2}}},
            {Reduction::l1, {{Op::exp, -0.05}}},
            {Reduction::squared_distance, {}, 0.02}};
}

struct Named {
    const char* name;
    Program program;
};

// Borders of as many rows and columns; those that are squares of samples are the caller's.
static std::vector<Named> programs(const Borders& borders, const Borders& squares) {
    const Instruction a{Action::part, 0}, b{Action::part, 1}, c{Action::part, 2}, d{Action::part, 3}, add{Action::add},
        multiply{Action::multiply};
    Borders normal = borders;
    normal.diagonal.assign(borders.of_x.size(), 1.0);
    return {{"a part", {{a}, {}}},
            {"a constant", {{{Action::constant, 0, 2.5}}, {}}},
            {"sum", {{a, b, add}, {}}},
            {"product", {{a, b, multiply}, {}}},
            {"part used twice", {{a, a, multiply}, {}}},
            {"steps", {{a, b, add, {Action::steps, 0, 0, {{Op::affine, 0.5, 1}, {Op::integer, 3}}}}, {}}},
            {"deep", {{a, b, c, {Action::constant, 0, 0.25}, add, multiply, add}, {}}},
            {"norms", {{b, {Action::multiply_borders, 0}}, {normal}}},
            {"scaled", {{b, {Action::multiply_borders, 0}}, {borders}}},
            {"centre", {{a, {Action::subtract_borders, 0}}, {borders}}},
            {"inner product", {{d, {Action::inner_product, 0}, c, add}, {squares}}},
            {"two borders",
             {{a, {Action::subtract_borders, 0}, b, {Action::multiply_borders, 1}, multiply}, {borders, normal}}}};
}

template <class T> struct Data {
    Index n;
    std::vector<T> values;
    Source<T> source;
    naive::Compressed<T> sparse;
    explicit Data(Index count, unsigned seed, double density = 1)
        : n(count), values(naive::samples<T>(Reduction::dot, count * kWidth, density, seed)),
          source(naive::dense(values, count, kWidth)), sparse(values, count, kWidth) {}
    std::vector<double> squares() const {
        std::vector<double> result;
        for (Index i = 0; i < n; ++i) {
            double sum = 0;
            for (Index k = 0; k < kWidth; ++k) sum += double(at(i, k)) * double(at(i, k));
            result.push_back(sum);
        }
        return result;
    }
    T at(Index i, Index k) const { return values[std::size_t(i * kWidth + k)]; }
};

template <class T> static std::vector<Real> parts_at(const Data<T>& x, const Data<T>& z, Index i, Index j) {
    std::vector<Real> result;
    for (const Formula& formula : formulas())
        result.push_back(naive::apply(formula.steps, naive::reduce(
                                                         formula.reduction, kWidth, [&](Index k) { return x.at(i, k); },
                                                         [&](Index k) { return z.at(j, k); })));
    return result;
}

template <class T>
static std::vector<std::shared_ptr<const Pairs<T>>> bound(const Data<T>& x, const Data<T>& z, bool sparse) {
    std::vector<std::shared_ptr<const Pairs<T>>> result;
    for (const Formula& formula : formulas())
        result.push_back(sparse ? bind(x.sparse.source, z.sparse.source, formula, Frame{},
                                       listed_layout(x.sparse.source, z.sparse.source, formula))
                                : bind(x.source, z.source, formula, Frame{}));
    return result;
}

template <class T> static std::vector<T> filled(const Pairs<T>& pairs, Index rows, Index columns) {
    std::vector<T> out(std::size_t(rows * columns));
    pairs.fill(nullptr, 0, rows, 0, columns, out.data(), columns);
    return out;
}

// All entries against the naive ones, relative to the largest; then blocks of other shapes have the same bits.
template <class T>
static void check_pairs(const Pairs<T>& pairs, const Program& program, const Data<T>& x, const Data<T>& z, bool same) {
    const Index rows = x.n, columns = z.n;
    const std::vector<T> out = filled(pairs, rows, columns);
    double largest = 0, worst = 0;
    for (Index i = 0; i < rows; i += 7)
        for (Index j = i % 3; j < columns; j += 3) {
            const double expected = double(value(program, parts_at(x, z, i, j), i, j, same));
            largest = std::max(largest, std::abs(expected));
            worst = std::max(worst, std::abs(double(out[std::size_t(i * columns + j)]) - expected));
        }
    CHECK(worst <= kTolerance<T> * largest);
    const std::vector<Index> index = {17, 3, 299, 3, 0, 250, 18};
    for (auto [first, last] : {std::pair<Index, Index>{0, columns}, {1, 2}, {239, 242}, {130, 517}}) {
        const Index wide = last - first;
        std::vector<T> block(index.size() * std::size_t(wide + 5), T(-7));
        pairs.fill(index.data(), 0, Index(index.size()), first, last, block.data(), wide + 5);
        std::vector<T> streamed(block.size(), T(-7));
        std::unique_ptr<typename Pairs<T>::Ready> ready;
        pairs.prepare(index.data(), Index(index.size()), ready);
        for (const typename Pairs<T>::Ready* made :
             {(const typename Pairs<T>::Ready*)nullptr, (const typename Pairs<T>::Ready*)ready.get()}) {
            pairs.stream(
                index.data(), Index(index.size()), first, last,
                [&](Index r, Index count, Index j0, Index j1, const T* seen, Index stride) {
                    for (Index k = 0; k < count; ++k)
                        std::copy_n(seen + k * stride, j1 - j0,
                                    &streamed[std::size_t((r + k) * (wide + 5) + j0 - first)]);
                },
                made);
            CHECK(std::memcmp(streamed.data(), block.data(), block.size() * sizeof(T)) == 0);
        }
        bool equal = true;
        for (std::size_t r = 0; r < index.size(); ++r)
            equal =
                equal && std::memcmp(&block[r * std::size_t(wide + 5)], &out[std::size_t(index[r] * columns + first)],
                                     std::size_t(wide) * sizeof(T)) == 0;
        CHECK(equal);
    }
}

template <class T> static void blocks(bool sparse) {
    const Data<T> x(kRows, 1, sparse ? 0.3 : 1), z(kColumns, 2, sparse ? 0.3 : 1);
    const Borders apart{numbers(kRows, 3), numbers(kColumns, 4), {}}, squares{x.squares(), z.squares(), {}};
    for (auto& [name, program] : programs(apart, squares)) {
        check::context = std::string(name) + (sparse ? ", sparse" : ", dense") + (sizeof(T) == 4 ? " f32" : " f64");
        const auto pairs = compose(bound(x, z, sparse), program, kRows, kColumns, Diagonal{});
        check_pairs(*pairs, program, x, z, false);
        // The transposed matrix has the same bits.
        Program turned = program;
        for (Borders& border : turned.borders) {
            std::swap(border.of_x, border.of_z);
            if (!border.diagonal.empty()) border.diagonal.assign(std::size_t(kColumns), 1.0);
        }
        const auto other = filled(*compose(bound(z, x, sparse), turned, kColumns, kRows, Diagonal{}), kColumns, kRows);
        const auto out = filled(*pairs, kRows, kColumns);
        bool equal = true;
        for (Index i = 0; i < kRows; ++i)
            for (Index j = 0; j < kColumns; ++j)
                equal = equal && out[std::size_t(i * kColumns + j)] == other[std::size_t(j * kRows + i)];
        CHECK(equal);
    }
}

template <class T> static void symmetric(bool sparse) {
    const Data<T> x(kColumns, 5, sparse ? 0.3 : 1);
    const Index n = x.n;
    const std::vector<double> border = numbers(n, 6), own = x.squares();
    for (auto& [name, program] : programs({border, border, {}}, {own, own, {}})) {
        check::context = std::string("symmetric ") + name + (sparse ? ", sparse" : ", dense");
        const auto pairs = compose(bound(x, x, sparse), program, n, n, Diagonal::of(n));
        check_pairs(*pairs, program, x, x, true);
        std::vector<T> whole(std::size_t(n * n));
        pairs->fill_symmetric(whole.data(), n);
        CHECK(whole == filled(*pairs, n, n));
        bool equal = true;
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < i; ++j)
                equal = equal && whole[std::size_t(i * n + j)] == whole[std::size_t(j * n + i)];
        CHECK(equal);
        set_thread_count(1);
        CHECK(whole == filled(*pairs, n, n));
        set_thread_count(2);
        std::vector<double> weights = numbers(n, 7), out(std::size_t(n), 0.0);
        symmetric_product(*pairs, n, weights.data(), 1, out.data());
        double worst = 0, size = 0;
        for (Index i = 0; i < n; ++i) {
            double sum = 0, terms = 0;
            for (Index j = 0; j < n; ++j) {
                const double term = double(whole[std::size_t(i * n + j)]) * weights[std::size_t(j)];
                sum += term, terms += std::abs(term);
            }
            worst = std::max(worst, std::abs(out[std::size_t(i)] - sum)), size = std::max(size, terms);
        }
        CHECK(worst <= 1e-13 * size);
    }
}

// The matrix as solvers see it: parts of it, its diagonal, and that its error is within the bound.
static void grams() {
    const Data<double> x(kColumns, 8);
    const Index n = x.n;
    const std::vector<double> own = x.squares();
    std::vector<double> border; // the inverse norms of the second part
    for (double square : own) border.push_back(1 / (0.1 * square + 1));
    double largest = 0;
    for (double square : own) largest = std::max(largest, square);
    std::vector<std::unique_ptr<Gram<float>>> single;
    std::vector<std::unique_ptr<Gram<double>>> exact;
    std::vector<const Gram<float>*> single_parts;
    std::vector<const Gram<double>*> exact_parts;
    std::vector<Bound> bounds;
    for (const Formula& formula : formulas()) {
        single.push_back(formula_gram<float>(x.source, formula, Frame{}, 0));
        exact.push_back(formula_gram<double>(x.source, formula, Frame{}, 0));
        single_parts.push_back(single.back().get());
        exact_parts.push_back(exact.back().get());
        const ReductionProperties& kind = properties_of(formula.reduction);
        const double radius = std::sqrt(largest),
                     many = formula.reduction == Reduction::l1 ? std::sqrt(double(kWidth)) : 1;
        const double size = kind.product ? largest : std::pow(2 * many * radius, kind.power);
        bounds.push_back(bound_of({formula, size, kind.movable ? 1.2e-7 * many * radius : 0}));
    }
    std::vector<Index> some = {5, 500, 3, 77, 78, 79, 522, 0}, others = {500, 1, 2, 3, 400, 77};
    for (auto& [name, program] : programs({border, border, {}}, {own, own, {}})) {
        check::context = std::string("gram of ") + name;
        const double error = error_of(program, bounds);
        CHECK(std::isfinite(error));
        const auto narrow = composed_gram(single_parts, program, n, error);
        const auto wide = composed_gram(exact_parts, program, n, 0);
        const auto a = filled(narrow->all(), n, n);
        const auto b = filled(wide->all(), n, n);
        double off = 0;
        for (std::size_t k = 0; k < a.size(); ++k) off = std::max(off, std::abs(double(a[k]) - b[k]));
        CHECK(off <= error);
        const auto apart = wide->between(some, others);
        const auto block = filled(*apart, Index(some.size()), Index(others.size()));
        for (std::size_t r = 0; r < some.size(); ++r)
            for (std::size_t c = 0; c < others.size(); ++c)
                CHECK(block[r * others.size() + c] == b[std::size_t(some[r] * n + others[c])]);
        for (Index i : some) CHECK(wide->diagonal(i) == b[std::size_t(i * n + i)]);
        std::vector<double> square(some.size() * some.size());
        wide->between(some, some)->fill_symmetric(square.data(), Index(some.size()));
        for (std::size_t r = 0; r < some.size(); ++r)
            for (std::size_t c = 0; c < some.size(); ++c)
                CHECK(square[r * some.size() + c] == b[std::size_t(some[r] * n + some[c])]);
    }
}

// Pairs that cannot be bound anew, in an order, and a matrix that exists.
static void given() {
    check::context = "given";
    const Data<double> x(kRows, 10);
    std::shared_ptr<const Pairs<double>> pairs = bind(x.source, x.source, formulas()[1], Frame{});
    const auto all = filled(*pairs, kRows, kRows);
    std::vector<Index> order;
    for (Index i = 0; i < kRows; i += 2) order.push_back((i * 7) % kRows);
    const Index n = Index(order.size());
    const auto anew = pairs_gram(pairs, order, 10.0);
    const std::vector<float> rounded(all.begin(), all.end());
    const auto stored = given_gram<float>(all.data(), order, kRows, 1, 1.0);
    const auto a = filled(anew->all(), n, n);
    const auto b = filled(stored->all(), n, n);
    for (Index i = 0; i < n; ++i) {
        CHECK(anew->diagonal(i) == all[std::size_t(order[std::size_t(i)] * (kRows + 1))]);
        for (Index j = 0; j < n; ++j) {
            const auto at = std::size_t(order[std::size_t(i)] * kRows + order[std::size_t(j)]);
            CHECK(a[std::size_t(i * n + j)] == all[at]);
            CHECK(b[std::size_t(i * n + j)] == rounded[at]);
        }
    }
    CHECK(stored->errors().largest() > 0);
    CHECK(given_gram<float>(rounded.data(), order, kRows, 1)->errors().largest() == 0);
}

static void refused() {
    check::context = "refused";
    const auto fails = [](const Program& program) {
        try {
            program.check(1, 2, 2);
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    const Instruction part{Action::part, 0};
    CHECK(!fails({{part}, {}}));
    CHECK(fails({{}, {}}));
    CHECK(fails({{part, part}, {}}));
    CHECK(fails({{part, {Action::add}}, {}}));
    CHECK(fails({{{Action::part, 1}}, {}}));
    CHECK(fails({{part, {Action::subtract_borders, 0}}, {}}));
    CHECK(fails({{part, {Action::subtract_borders, 0}}, {{{1, 2}, {1}, {}}}}));
}

int main() {
    set_thread_count(2);
    for (const InstructionSet* set : instruction_sets()) {
        if (!set->available()) continue;
        select_instruction_set(set->name);
        for (bool sparse : {false, true}) {
            blocks<float>(sparse);
            blocks<double>(sparse);
            symmetric<float>(sparse);
            symmetric<double>(sparse);
        }
        grams();
    }
    given();
    refused();
    return check::finish();
}
