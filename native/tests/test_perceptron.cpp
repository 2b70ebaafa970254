// The perceptron: the rule word by word, and the dual on a linear kernel against the primal, in one block or several.
#include "check.hpp"
#include "solvers/perceptron.hpp"
#include "threads/pool.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace mercer;

struct Data {
    Index rows = 300, columns = 7, outputs;
    std::vector<double> values, weight;
    std::vector<float> narrow;
    std::vector<std::int32_t> indices;
    std::vector<double> stored;
    std::vector<Index> indptr{0}, label, order;
    double radius = 0;

    explicit Data(Index classes) : outputs(classes == 2 ? 1 : classes) {
        std::mt19937 random(3);
        std::uniform_int_distribution<int> small(-4, 4); // whole numbers: every sum is exact, ties included
        for (Index i = 0; i < rows; ++i) {
            double square = 0, f = 1;
            for (Index k = 0; k < columns; ++k) {
                const double v = std::max(0, small(random));
                values.push_back(v), narrow.push_back(float(v));
                if (v != 0) stored.push_back(v), indices.push_back(std::int32_t(k));
                square += v * v, f += v * double(k % 3 - 1);
            }
            indptr.push_back(Index(stored.size()));
            label.push_back(std::clamp<Index>(Index(f / 2 + double(classes) / 2), 0, classes - 1));
            weight.push_back(1.0 + double(i % 2));
            order.push_back((i * 7) % rows);
            radius = std::max(radius, square);
        }
    }
    perceptron::Examples examples() const { return {label.data(), weight.data(), outputs, radius}; }
    const double* row(Index i) const { return values.data() + i * columns; }
    double dot(Index i, Index j) const {
        double sum = 0;
        for (Index k = 0; k < columns; ++k) sum += row(i)[k] * row(j)[k];
        return sum;
    }
    template <class T> Source<T> dense(const std::vector<T>& data) const {
        Source<T> s;
        s.rows = rows, s.columns = s.row_stride = columns, s.column_stride = 1, s.data = data.data();
        return s;
    }
    Source<double> sparse() const {
        Source<double> s;
        s.rows = rows, s.columns = columns;
        s.values = stored.data(), s.indices = indices.data(), s.indptr = indptr.data();
        return s;
    }
};

struct Primal {
    std::vector<double> weights;
    std::vector<Index> mistakes;
    bool operator==(const Primal&) const = default;
};

static Primal naive(const Data& data, int passes) {
    const Index width = data.columns + 1;
    Primal p{std::vector<double>(std::size_t(data.outputs * width)), std::vector<Index>(std::size_t(data.outputs))};
    for (int pass = 0; pass < passes; ++pass)
        for (Index i : data.order)
            for (Index c = 0; c < data.outputs; ++c) {
                double* w = p.weights.data() + c * width;
                double f = w[data.columns];
                for (Index k = 0; k < data.columns; ++k) f += w[k] * data.row(i)[k];
                const double y = data.label[std::size_t(i)] == (data.outputs == 1 ? 1 : c) ? 1 : -1;
                if (y * f > 0) continue;
                const double s = y * data.weight[std::size_t(i)];
                for (Index k = 0; k < data.columns; ++k) w[k] += s * data.row(i)[k];
                w[data.columns] += s * data.radius;
                ++p.mistakes[std::size_t(c)];
            }
    return p;
}

template <class T> static Primal primal(const Data& data, const Source<T>& source, int passes) {
    Primal p{std::vector<double>(std::size_t(data.outputs * (data.columns + 1))),
             std::vector<Index>(std::size_t(data.outputs))};
    for (int pass = 0; pass < passes; ++pass)
        perceptron::pass(source, data.order.data(), data.rows, data.examples(), p.weights.data(), p.mistakes.data());
    return p;
}

// All rows against all in one block, pass after pass: the support is every row, which is its own.
struct Dual {
    std::vector<double> a, late, bias, late_bias;
    std::vector<Index> mistakes;
    Index clock = 0;

    explicit Dual(const Data& data)
        : a(std::size_t(data.rows * data.outputs)), late(a), bias(std::size_t(data.outputs)), late_bias(bias),
          mistakes(std::size_t(data.outputs)) {}

    // The rows order[from .. to) against all rows as the support and themselves.
    void pass(const Data& data, Index from, Index to, Index budget) {
        const Index n = data.rows, rows = to - from, columns = n + rows;
        std::vector<double> kernel(std::size_t(rows * columns)), diagonal(kernel.size() / std::size_t(rows)), weight;
        std::vector<Index> own, label;
        for (Index i = 0; i < rows; ++i) {
            const Index x = data.order[std::size_t(from + i)];
            own.push_back(x), label.push_back(data.label[std::size_t(x)]),
                weight.push_back(data.weight[std::size_t(x)]);
            for (Index j = 0; j < columns; ++j) {
                const Index z = j < n ? j : data.order[std::size_t(from + j - n)];
                kernel[std::size_t(i * columns + j)] = data.dot(x, z);
                diagonal[std::size_t(j)] = data.dot(z, z);
            }
        }
        a.resize(std::size_t(columns * data.outputs), 0.0), late.resize(a.size(), 0.0);
        const perceptron::KernelBlock<double> block{rows, n, kernel.data(), own.data(), diagonal.data()};
        perceptron::KernelState state{a.data(), late.data(), bias.data(), late_bias.data(), clock};
        perceptron::pass(block, {label.data(), weight.data(), data.outputs, data.radius}, budget, state,
                         mistakes.data());
        clock += rows;
        for (Index i = 0; i < rows; ++i) // what was learned anew belongs to the same example
            for (Index c = 0; c < data.outputs; ++c) {
                const std::size_t into = std::size_t(own[std::size_t(i)] * data.outputs + c);
                const std::size_t out = std::size_t((n + i) * data.outputs + c);
                a[into] += a[out], late[into] += late[out];
            }
        a.resize(std::size_t(n * data.outputs)), late.resize(a.size());
    }
    Index used(const Data& data) const {
        Index count = 0;
        for (Index i = 0; i < data.rows; ++i)
            count += std::any_of(a.begin() + i * data.outputs, a.begin() + (i + 1) * data.outputs,
                                 [](double v) { return v != 0; });
        return count;
    }
};

static void test_primal(const Data& data) {
    for (int passes : {1, 4}) {
        const Primal expected = naive(data, passes);
        CHECK(primal(data, data.dense(data.values), passes) == expected);
        CHECK(primal(data, data.dense(data.narrow), passes) == expected);
        CHECK(primal(data, data.sparse(), passes) == expected);
        CHECK(expected.mistakes[0] > 0);
    }
}

static void test_dual(const Data& data) {
    const Primal expected = naive(data, 3);
    for (Index height : {data.rows, Index(64), Index(1)}) {
        Dual dual(data);
        std::vector<double> mean(dual.bias);
        for (int pass = 0; pass < 3; ++pass)
            for (Index from = 0; from < data.rows; from += height) {
                dual.pass(data, from, std::min(from + height, data.rows), 0);
                if (height == 1)
                    for (Index c = 0; c < data.outputs; ++c) mean[std::size_t(c)] += dual.bias[std::size_t(c)];
            }
        CHECK(dual.mistakes == expected.mistakes);
        for (Index c = 0; c < data.outputs; ++c) {
            const double* w = expected.weights.data() + c * (data.columns + 1);
            CHECK(dual.bias[std::size_t(c)] == w[data.columns]);
            for (Index k = 0; k < data.columns; ++k) {
                double sum = 0;
                for (Index i = 0; i < data.rows; ++i) sum += dual.a[std::size_t(i * data.outputs + c)] * data.row(i)[k];
                CHECK(sum == w[k]);
            }
            const double T = double(dual.clock);
            if (height == 1)
                CHECK_CLOSE(dual.bias[std::size_t(c)] - dual.late_bias[std::size_t(c)] / T, mean[std::size_t(c)] / T,
                            1e-12, data.radius * T);
        }
    }
}

static void test_budget(const Data& data) {
    for (Index height : {data.rows, Index(50)}) {
        Dual dual(data);
        for (int pass = 0; pass < 2; ++pass)
            for (Index from = 0; from < data.rows; from += height) {
                dual.pass(data, from, from + height, 20);
                CHECK(dual.used(data) <= 20);
            }
        CHECK(dual.used(data) == 20);
        CHECK(dual.mistakes[0] > 20);
    }
}

int main() {
    for (Index classes : {2, 4})
        for (int threads : {1, 3}) {
            check::context = std::to_string(classes) + " classes, " + std::to_string(threads) + " threads";
            set_thread_count(threads);
            const Data data(classes);
            test_primal(data);
            test_dual(data);
            test_budget(data);
        }
    return check::finish();
}
