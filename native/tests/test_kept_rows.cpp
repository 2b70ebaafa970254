// Rows that a matrix keeps: which are kept, which make way, and what is forgotten when they could not be written.
#include "gram/kept_rows.hpp"

#include "check.hpp"
#include "gram/matrices.hpp"
#include "naive.hpp"
#include "problems.hpp"

using namespace mercer;

template <class T> static void write(KeptRows<T>& rows, const std::vector<Index>& which) {
    rows.begin_round();
    std::vector<Index> missing;
    for (Index row : which)
        if (rows.find(row))
            rows.use(row);
        else
            missing.push_back(row);
    rows.claim(missing);
    for (Index row : missing)
        if (T* place = rows.place(row))
            for (Index j = 0; j < rows.length(); ++j) place[j] = T(100 * row + j);
}
template <class T> static bool there(const KeptRows<T>& rows, Index row) {
    const T* at = rows.find(row);
    for (Index j = 0; at && j < rows.length(); ++j)
        if (at[j] != T(100 * row + j)) return false;
    return at;
}

template <class T> static void the_least_recently_used_go_first() {
    KeptRows<T> rows;
    rows.prepare(10, 3, 1);
    for (Index row : {0, 1, 2, 0, 3}) write(rows, {row}); // 1 is the oldest when 3 comes
    for (Index row = 0; row < 10; ++row) CHECK(there(rows, row) == (row == 0 || row == 2 || row == 3));
    write(rows, {4, 5, 6, 7}); // no more than fit, and none of a round for another of the same
    for (Index row = 0; row < 10; ++row) CHECK(there(rows, row) == (row >= 4 && row <= 6));
}

template <class T> static void kept_at_the_third_use() {
    KeptRows<T> rows;
    rows.prepare(4, 4, 3);
    for (int use = 1; use <= 4; ++use) {
        write(rows, {2});
        CHECK(there(rows, 2) == (use >= 3));
    }
}

template <class T> static void what_was_not_written_is_forgotten() {
    KeptRows<T> rows;
    rows.prepare(6, 2, 1);
    write(rows, {0, 1});
    rows.begin_round();
    rows.claim({2, 3});
    CHECK(rows.find(2) && rows.find(3) && !rows.find(0));
    rows.disclaim();
    for (Index row = 0; row < 6; ++row) CHECK(!rows.find(row));
    write(rows, {4, 5});
    CHECK(there(rows, 4) && there(rows, 5));
    write(rows, {0});
    CHECK(there(rows, 0) && there(rows, 4) != there(rows, 5));
}

template <class T> static void prepared_again() {
    KeptRows<T> rows;
    rows.prepare(8, 4, 1);
    write(rows, {0, 1, 2});
    rows.prepare(8, 5, 1);
    CHECK(there(rows, 0) && there(rows, 2) && rows.capacity() == 4); // a little more room is not worth to begin anew
    rows.prepare(8, 3, 1);
    CHECK(there(rows, 0) && rows.capacity() == 3);
    rows.prepare(8, 2, 1);
    CHECK(!rows.find(0) && rows.capacity() == 2);
    write(rows, {0, 1});
    rows.prepare(8, 8, 1);
    CHECK(!rows.find(0) && rows.capacity() == 8);
    rows.prepare(9, 8, 1);
    CHECK(rows.length() == 9 && !rows.find(8));
    rows.prepare(9, 0, 1);
    write(rows, {1});
    CHECK(!rows.find(1) && rows.bytes() == 0);
}

// Rows that are asked for, and rows that a solve leaves, are those of the matrix; a second solve finds them.
template <class T> static void a_matrix_keeps_its_rows(Index n) {
    const problems::Data data(n, 12, 0.5, 3);
    const Matrices matrices = data.matrices(sizeof(T) == 4);
    matrices.memory.lasting = true;
    std::vector<T> all(std::size_t(n * n)), out(std::size_t(3 * n));
    matrices.of<T>()->all().fill(nullptr, 0, n, 0, n, all.data(), n);
    auto right = [&](const std::vector<Index>& rows) {
        CHECK(read_rows(matrices, rows, std::size_t(n * n) * 16, out.data()));
        for (std::size_t r = 0; r < rows.size(); ++r)
            for (Index j = 0; j < n; ++j)
                CHECK(out[std::size_t(Index(r) * n + j)] == all[std::size_t(rows[r] * n + j)]);
    };
    right({5, 1, 5});
    CHECK(matrices.memory.computed == 2);
    right({1, 5, 7});
    CHECK(matrices.memory.computed == 3);
    std::vector<std::vector<double>> found;
    for (int time = 0; time < 3; ++time) {
        const problems::Example example = problems::hinge(data.labels, 2.0);
        std::vector<ProblemRun> tasks(1);
        std::vector<double> a = example.start(), f(a.size());
        tasks[0].problem = example.problem(), tasks[0].a = a.data(), tasks[0].f = f.data();
        const Index before = matrices.memory.computed;
        if (time == 2) matrices.memory.drop<T>();
        solve(matrices, tasks, Settings{});
        CHECK(tasks[0].finished && tasks[0].certificate.violation <= 1e-3);
        CHECK((matrices.memory.computed == before) == (time == 1));
        found.push_back(a), found.push_back(f);
    }
    CHECK(found[0] == found[2] && found[0] == found[4]); // to the last bit, whatever was known before
    CHECK(found[1] == found[3] && found[1] == found[5]);
    right({0, n - 1, n / 2});
}

int main() {
    the_least_recently_used_go_first<float>();
    the_least_recently_used_go_first<double>();
    kept_at_the_third_use<float>();
    kept_at_the_third_use<double>();
    what_was_not_written_is_forgotten<float>();
    what_was_not_written_is_forgotten<double>();
    prepared_again<float>();
    prepared_again<double>();
    for (Index n : {300, 2500}) {
        a_matrix_keeps_its_rows<float>(n);
        a_matrix_keeps_its_rows<double>(n);
    }
    return check::finish();
}
