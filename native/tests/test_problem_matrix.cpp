// Rows of a problem's matrix: when they are kept, blocks shared by several problems, blocks across the diagonal, and
// sums over many of them.
#include "solvers/problem_matrix.hpp"

#include "check.hpp"
#include "kernels/transpose.hpp"
#include "naive.hpp"
#include "problems.hpp"
#include "threads/pool.hpp"

#include <cmath>

using namespace mercer;

template <class T> static void transposed() {
    for (Index rows : {1, 3, 4, 16, 21, 35})
        for (Index columns : {1, 4, 7, 8, 24, 33}) {
            check::context = std::to_string(rows) + " x " + std::to_string(columns);
            const Index stride = 40, other = 37;
            std::vector<T> from(std::size_t(stride * stride)), to(std::size_t(stride * other), T(-1));
            for (std::size_t i = 0; i < from.size(); ++i) from[i] = T(i);
            transpose(rows, columns, from.data(), stride, to.data(), other);
            for (Index j = 0; j < stride; ++j)
                for (Index i = 0; i < other; ++i)
                    CHECK(to[std::size_t(j * other + i)] ==
                          (i < rows && j < columns ? from[std::size_t(i * stride + j)] : T(-1)));
        }
    for (Index rows : {0, 1, 16, 17, 35}) {
        check::context = "mirror of " + std::to_string(rows);
        const Index stride = 40;
        std::vector<T> square(std::size_t(stride * stride));
        for (std::size_t i = 0; i < square.size(); ++i) square[i] = T(i);
        mirror(rows, square.data(), stride);
        for (Index i = 0; i < stride; ++i)
            for (Index j = 0; j < stride; ++j) {
                const bool mirrored = i < rows && j < i;
                CHECK(square[std::size_t(i * stride + j)] == T(mirrored ? j * stride + i : i * stride + j));
            }
    }
}

static Formula gaussian() { return {Reduction::squared_distance, {{Op::exp, -0.1, 0.0, {}}}, 0.1}; }

// A row is computed until that has cost as much as to keep it.
template <class T> static void kept_once_that_is_cheaper() {
    const Index n = 300;
    for (Index d : {2, 20, 60, 300}) {
        check::context = std::to_string(d) + " coordinates";
        const auto x = naive::samples<double>(Reduction::dot, n * d, 1.0, 5);
        const auto gram = formula_gram<T>(naive::dense(x, n, d), gaussian(), {}, 2e-6);
        const problems::Example example = problems::hinge(std::vector<double>(std::size_t(n), 1.0), 1);
        for (const bool room : {false, true}) {
            ProblemMatrix<T> rows(*gram, example.problem(), {}, room ? std::size_t(n * n) * 16 : 0);
            std::vector<double> f(std::size_t(n), 0.0);
            const Index uses = 12;
            for (Index use = 0; use < uses; ++use) rows.update({7}, {1.0}, f.data());
            CHECK(rows.computed() == (room ? Index(std::ceil(costs::kKeep / gram->cost())) : uses));
            CHECK_CLOSE(f[7], uses * gram->diagonal(7), 1e-6, uses);
        }
    }
}

// A block among some columns, in any order: of rows that are kept, of none, or of both, it is that of the whole matrix.
template <class T> static void blocks_among_columns() {
    const Index n = 90, d = 700, stride = 70;
    const auto x = naive::samples<double>(Reduction::dot, n * d, 1.0, 5);
    const auto gram = formula_gram<T>(naive::dense(x, n, d), gaussian(), {}, 2e-6);
    CHECK(gram->cost() > costs::kGather);
    const problems::Example example = problems::hinge(std::vector<double>(std::size_t(n), 1.0), 1);
    ProblemMatrix<T> rows(*gram, example.problem(), {}, std::size_t(n * n) * 16);
    std::vector<T> whole(std::size_t(n * n));
    rows.whole(whole.data(), n);
    std::vector<Index> columns;
    for (Index c = 0; c < 67; ++c) columns.push_back((c * 37 + 11) % n);
    std::vector<double> f(std::size_t(n), 0.0);
    for (Index known : {0, 1, 33, 66, 67}) {
        check::context = std::to_string(known) + " rows kept";
        for (Index c = 0; c < known; ++c) rows.update({columns[std::size_t(c * 5 % 67)]}, {1.0}, f.data());
        CHECK(rows.computed() == n + known); // of them n for the whole matrix
        std::vector<T> out(std::size_t(stride * stride), T(-7));
        rows.square(columns, out.data(), stride);
        for (Index r = 0; r < 67; ++r)
            for (Index c = 0; c < 67; ++c)
                CHECK(out[std::size_t(r * stride + c)] ==
                      whole[std::size_t(columns[std::size_t(r)] * n + columns[std::size_t(c)])]);
    }
}

// The sum over many rows has the same bits whichever of them are kept, whatever the number of threads.
template <class T> static void sums_over_many_rows() {
    const Index n = 1500, d = 60;
    const auto x = naive::samples<double>(Reduction::dot, n * d, 1.0, 5);
    const auto gram = formula_gram<T>(naive::dense(x, n, d), gaussian(), {}, 2e-6);
    const problems::Example example = problems::hinge(std::vector<double>(std::size_t(n), 1.0), 1);
    std::vector<Index> moved;
    std::vector<double> delta;
    for (Index c = 0; c < n; c += 1 + c % 7 / 6) moved.push_back(c), delta.push_back(std::sin(double(c)));
    std::vector<double> all(std::size_t(n), 0.0);
    ProblemMatrix<T>(*gram, example.problem(), {}, 0).update(moved, delta, all.data());
    std::vector<T> row(static_cast<std::size_t>(n));
    long double expected = 0;
    gram->all().fill(nullptr, 3, 1, 0, n, row.data(), n);
    for (std::size_t r = 0; r < moved.size(); ++r) expected += (long double)(delta[r]) * row[std::size_t(moved[r])];
    CHECK_CLOSE(all[3], double(expected), 1e-13, double(n));
    for (int threads : {1, 2, 3})
        for (Index every : {1, 2, 5, 400}) {
            check::context = std::to_string(threads) + " threads, one row in " + std::to_string(every) + " kept";
            set_thread_count(threads);
            ProblemMatrix<T> rows(*gram, example.problem(), {}, std::size_t(n * n) * 16);
            std::vector<double> f(std::size_t(n), 0.0), other(std::size_t(n), 0.0);
            for (int use = 0; use < 8; ++use)
                for (Index c = 0; c < n; c += every) rows.update({c}, {1.0}, other.data());
            const Index before = rows.computed();
            rows.update(moved, delta, f.data());
            CHECK((rows.computed() == before) == (every == 1));
            CHECK(f == all);
        }
    set_thread_count(2);
}

// A sample that is asked for twice has its row twice.
static void asked_for_twice() {
    check::context = "twice";
    const Index n = 40, d = 3;
    const auto x = naive::samples<double>(Reduction::dot, n * d, 1.0, 5);
    const auto gram = formula_gram<double>(naive::dense(x, n, d), gaussian(), {}, 0.0);
    const problems::Example example = problems::hinge(std::vector<double>(std::size_t(n), 1.0), 1);
    const Problem problem = example.problem();
    const std::size_t budget = std::size_t(1) << 20;
    const CommonRows<double> squares(*gram, common_runs(*gram, {&problem, &problem}, budget), budget);
    CHECK(squares.bytes() > 0);
    std::vector<double> a(std::size_t(n), -1.0), b(std::size_t(n), -1.0);
    CHECK(squares.read({5, 5}, 0, n, {a.data(), b.data()}) == 2); // nobody waits for a row that is being computed
    CHECK(squares.read({5, 5}, 0, n, {a.data(), b.data()}) == 0);
    CHECK(a[5] == 1.0 && a == b);
}

int main() {
    transposed<float>();
    transposed<double>();
    kept_once_that_is_cheaper<float>();
    kept_once_that_is_cheaper<double>();
    blocks_among_columns<float>();
    blocks_among_columns<double>();
    sums_over_many_rows<float>();
    sums_over_many_rows<double>();
    asked_for_twice();
    return check::finish();
}
