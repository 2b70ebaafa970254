// The row cache: what is kept, what is dropped, and that threads may share it.
#include "check.hpp"
#include "gram/row_cache.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace mercer;

template <class T> static std::vector<T> row(Index i, Index columns) {
    std::vector<T> values(static_cast<std::size_t>(columns));
    for (Index k = 0; k < columns; ++k) values[std::size_t(k)] = T(1000 * i + k);
    return values;
}

template <class T> static void keeps_the_most_recent() {
    const Index columns = 5;
    RowCache<T> cache(columns, 3 * 5 * sizeof(T) + 1);
    CHECK(cache.capacity() == 3);
    std::vector<T> out(5, T(-1));
    CHECK(!cache.get(0, out.data()));
    CHECK(out == std::vector<T>(5, T(-1)));
    for (Index i : {0, 1, 2}) cache.put(i, row<T>(i, columns).data());
    CHECK(cache.size() == 3);
    CHECK(cache.get(0, out.data())); // now 1 is the oldest
    CHECK(out == row<T>(0, columns));
    cache.put(3, row<T>(3, columns).data());
    CHECK(cache.size() == 3);
    CHECK(!cache.get(1, out.data()));
    for (Index i : {0, 2, 3}) {
        CHECK(cache.get(i, out.data()));
        CHECK(out == row<T>(i, columns));
    }
    CHECK(cache.hits() == 4);
    CHECK(cache.misses() == 2);
    cache.put(3, row<T>(9, columns).data()); // a row that is here already is not replaced
    CHECK(cache.get(3, out.data()) && out == row<T>(3, columns));
}

template <class T> static void small_budgets() {
    std::vector<T> out(4);
    for (std::size_t budget : {std::size_t(0), std::size_t(1), 4 * sizeof(T) - 1}) {
        RowCache<T> none(4, budget);
        CHECK(none.capacity() == 0);
        none.put(0, row<T>(0, 4).data());
        CHECK(none.size() == 0);
        CHECK(!none.get(0, out.data()));
    }
    RowCache<T> one(4, 4 * sizeof(T));
    for (Index i = 0; i < 10; ++i) {
        one.put(i, row<T>(i, 4).data());
        CHECK(one.size() == 1);
        CHECK(one.get(i, out.data()) && out == row<T>(i, 4));
        CHECK(i == 0 || !one.get(i - 1, out.data()));
    }
    RowCache<T> empty(0, 1000);
    CHECK(empty.capacity() == 0);
}

template <class T> static void threads_may_share_it() {
    const Index columns = 33;
    RowCache<T> cache(columns, 7 * 33 * sizeof(T));
    std::atomic<int> wrong{0};
    std::vector<std::thread> users;
    for (unsigned u = 0; u < 4; ++u)
        users.emplace_back([&, u] {
            std::vector<T> out(33);
            unsigned state = u + 1;
            for (int round = 0; round < 5000; ++round) {
                state = state * 1664525u + 1013904223u;
                const Index i = Index(state >> 16) % 20;
                if (cache.get(i, out.data()))
                    wrong += out != row<T>(i, columns);
                else
                    cache.put(i, row<T>(i, columns).data());
            }
        });
    for (auto& user : users) user.join();
    CHECK(wrong == 0);
    CHECK(cache.size() == 7);
    CHECK(cache.hits() + cache.misses() == 4 * 5000);
}

int main() {
    keeps_the_most_recent<float>();
    keeps_the_most_recent<double>();
    small_budgets<float>();
    small_budgets<double>();
    threads_may_share_it<float>();
    threads_may_share_it<double>();
    return check::finish();
}
