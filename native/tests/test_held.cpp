// Matrices that are held: rows where they stand, and the same solutions as of rows that are computed.
#include "check.hpp"
#include "gram/gram.hpp"
#include "gram/matrices.hpp"
#include "solvers/solve.hpp"

#include <cmath>

using namespace mercer;

namespace {

const std::vector<double>& samples() {
    static const std::vector<double> x = [] {
        std::vector<double> values;
        for (int i = 0; i < 2300 * 3; ++i) values.push_back(std::sin(1.7 * i) + std::cos(0.3 * i * i));
        return values;
    }();
    return x;
}

std::unique_ptr<Gram<double>> exact_gram(Index rows) {
    const Formula formula{Reduction::squared_distance, {Step{Op::exp, -0.5}}, 0.5};
    Source<double> source;
    source.rows = rows, source.columns = 3, source.data = samples().data(), source.row_stride = 3,
    source.column_stride = 1;
    return formula_gram<double>(source, formula, Frame{}, 0.0);
}

void rows_stand_where_they_are_said_to() {
    for (Index rows : {1, 15, 16, 17, 130}) {
        const auto exact = exact_gram(rows);
        const auto held = held_gram(*exact);
        const Index stride = held_stride(rows);
        CHECK(stride >= rows && stride % 16 == 0);
        CHECK(!exact->row(0));
        std::vector<double> all(std::size_t(rows * rows));
        exact->all().fill_symmetric(all.data(), rows);
        for (Index i = 0; i < rows; ++i) {
            CHECK(held->row(i) == held->row(0) + i * stride);
            for (Index j = 0; j < rows; ++j) {
                CHECK(held->row(i)[j] == held->row(j)[i]);
                CHECK(std::abs(double(held->row(i)[j]) - all[std::size_t(i * rows + j)]) <= held->errors().largest());
            }
            for (Index j = rows; j < stride; ++j) CHECK(held->row(i)[j] == 0);
        }
    }
}

// Of all samples, of some in few pieces and of some in many, in whole problems and in blocks.
void solutions_are_those_of_computed_rows() {
    const Index rows = 2300;
    Matrices held;
    held.exact = exact_gram(rows);
    held.single = held_gram(*held.exact);
    Matrices plain;
    plain.exact = exact_gram(rows);
    for (Index step : {1, 2}) {
        std::vector<Index> sample;
        for (Index i = 0; i < rows; i += step) sample.push_back(i);
        const auto n = Index(sample.size());
        std::vector<double> q, lower, upper, zero(std::size_t(n), 0.0);
        for (Index i = 0; i < n; ++i) {
            const double sign = samples()[std::size_t(3 * sample[std::size_t(i)])] > 0.2 ? 1 : -1;
            const double bound = i % 5 == 0 ? 0 : 20; // some are held out
            q.push_back(sign);
            lower.push_back(sign > 0 ? 0 : -bound);
            upper.push_back(sign > 0 ? bound : 0);
        }
        double dual[2];
        const Matrices* matrices[2] = {&held, &plain};
        std::vector<double> first, f_first;
        for (int k = 0; k < 2; ++k) {
            std::vector<double> a(std::size_t(n), 0.0), f(std::size_t(n), 0.0);
            ProblemRun run;
            run.problem = {n,
                           q.data(),
                           lower.data(),
                           upper.data(),
                           zero.data(),
                           zero.data(),
                           step == 1 ? nullptr : sample.data(),
                           nullptr,
                           1};
            run.a = a.data(), run.f = f.data();
            std::vector<ProblemRun> runs{run};
            Settings settings;
            settings.budget = std::size_t(1) << 30;
            solve(*matrices[k], runs, settings);
            CHECK(runs[0].finished && runs[0].certificate.violation <= settings.tol);
            dual[k] = runs[0].certificate.dual;
            if (k == 0) first = a, f_first = f;
        }
        CHECK(std::abs(dual[0] - dual[1]) <= 1e-3 * std::abs(dual[1]));
        // Begun where it ended, with f as it is, there is nothing left to do.
        ProblemRun again;
        again.problem = {n,
                         q.data(),
                         lower.data(),
                         upper.data(),
                         zero.data(),
                         zero.data(),
                         step == 1 ? nullptr : sample.data(),
                         nullptr,
                         1};
        again.a = first.data(), again.f = f_first.data(), again.known = true;
        std::vector<ProblemRun> runs{again};
        Settings settings;
        settings.budget = std::size_t(1) << 30;
        solve(held, runs, settings);
        CHECK(runs[0].finished && runs[0].certificate.violation <= settings.tol);
        CHECK(std::abs(runs[0].certificate.dual - dual[0]) <= 1e-6 * std::abs(dual[0]));
    }
}

} // namespace

int main() {
    rows_stand_where_they_are_said_to();
    solutions_are_those_of_computed_rows();
    return check::finish();
}
