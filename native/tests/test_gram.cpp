// The matrix as the solvers see it: entries between any samples from any source, blocks that stream by, other rows
// against the same columns, and products; all against the matrix written out.
#include "check.hpp"
#include "gram/gram.hpp"
#include "kernels/isa.hpp"
#include "naive.hpp"
#include "threads/pool.hpp"

#include <numeric>

using namespace mercer;

template <class T> constexpr double kTolerance = sizeof(T) == 4 ? 4e-6 : 1e-13;

static const Formula kGaussian{
    Reduction::squared_distance, {{Op::affine, -0.02, 0.0, {}}, {Op::exp, 1.0, 0.0, {}}}, 0.02};
static const Formula kChi2{Reduction::chi2, {{Op::affine, 0.1, 0.5, {}}}, 0.0};

static std::vector<double> naive_matrix(const std::vector<double>& x, Index n, Index d, const Formula& formula) {
    std::vector<double> matrix;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j)
            matrix.push_back(double(naive::apply(
                formula.steps, naive::reduce(
                                   formula.reduction, d, [&](Index k) { return x[std::size_t(i * d + k)]; },
                                   [&](Index k) { return x[std::size_t(j * d + k)]; }))));
    return matrix;
}

static std::vector<Index> every(Index n) {
    std::vector<Index> result(static_cast<std::size_t>(n));
    std::iota(result.begin(), result.end(), Index(0));
    return result;
}

// The matrix of some samples, in this order.
static std::vector<double> ordered(const std::vector<double>& matrix, Index n, const std::vector<Index>& order) {
    std::vector<double> result;
    for (Index i : order)
        for (Index j : order) result.push_back(matrix[std::size_t(i * n + j)]);
    return result;
}

// Streams rows and columns in pieces; every entry is seen once, row after row, as fill() has it.
template <class T>
static void check_stream(const Pairs<T>& pairs, const std::vector<Index>& rows, Index first, Index last) {
    const Index n = Index(rows.size()), width = last - first;
    std::vector<T> block(std::size_t(n * width) + 1), seen(std::size_t(n * width) + 1, T(-7));
    pairs.fill(rows.data(), 0, n, first, last, block.data(), width);
    block.back() = T(-7);
    std::vector<Index> reached(std::size_t(width), 0); // rows must come in order in every column
    pairs.stream(rows.data(), n, first, last,
                 [&](Index r, Index count, Index j0, Index j1, const T* entries, Index stride) {
                     CHECK(j0 >= first && j1 <= last && j0 < j1 && r + count <= n);
                     for (Index j = j0; j < j1; ++j) {
                         CHECK(reached[std::size_t(j - first)] == r);
                         reached[std::size_t(j - first)] = r + count;
                     }
                     for (Index i = 0; i < count; ++i)
                         for (Index j = j0; j < j1; ++j)
                             seen[std::size_t((r + i) * width + j - first)] = entries[i * stride + j - j0];
                 });
    for (Index at : reached) CHECK(at == n);
    CHECK(seen == block);
}

template <class T> static void check_gram(const Gram<T>& gram, const std::vector<double>& expected, double error) {
    const Index n = gram.size();
    CHECK(gram.errors().largest() <= error && (gram.errors().largest() > 0) == (error > 0) && gram.cost() > 0);
    std::vector<T> whole(std::size_t(n * n));
    gram.all().fill(nullptr, 0, n, 0, n, whole.data(), n);
    for (std::size_t i = 0; i < whole.size(); ++i)
        CHECK_CLOSE(whole[i], expected[i], kTolerance<T>, 1 + std::abs(expected[i]));
    for (Index i = 0; i < n; ++i) CHECK(gram.diagonal(i) == double(whole[std::size_t(i * n + i)]));
    CHECK(&gram.all() == &gram.all());
    std::vector<T> symmetric(std::size_t(n * n));
    gram.all().fill_symmetric(symmetric.data(), n);
    CHECK(symmetric == whole);
    // Any rows against any columns, repeated ones too, to the last bit.
    std::vector<Index> rows{n - 1, 0, n / 2, n / 2}, columns;
    for (Index j = 0; j < n; j += 3) columns.push_back((j * 7) % n);
    const auto pairs = gram.between(rows, columns);
    const Index width = Index(columns.size());
    std::vector<T> part(rows.size() * columns.size());
    pairs->fill(nullptr, 0, Index(rows.size()), 0, width, part.data(), width);
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < columns.size(); ++j)
            CHECK(part[i * columns.size() + j] == whole[std::size_t(rows[i] * n + columns[j])]);
    std::vector<T> square(columns.size() * columns.size());
    gram.between(columns, columns)->fill_symmetric(square.data(), width);
    for (std::size_t i = 0; i < columns.size(); ++i)
        for (std::size_t j = 0; j < columns.size(); ++j)
            CHECK(square[i * columns.size() + j] == whole[std::size_t(columns[i] * n + columns[j])]);
    check_stream(gram.all(), rows, 0, n);
    check_stream(gram.all(), every(n), n / 3, n - n / 5);
    check_stream(gram.all(), {}, 0, n);
    check_stream(*pairs, {1, 3, 0, 0}, width / 2, width);
    CHECK(gram.all().grain() > 0 && pairs->grain() > 0);
}

static void formulas() {
    const Index n = 530, d = 23; // more than a strip of the engine
    for (const Formula& formula : {kGaussian, kChi2})
        for (double density : {1.0, 0.05}) {
            check::context = std::string(naive::name(formula.reduction)) + ", density " + std::to_string(density);
            const auto single = naive::samples<float>(formula.reduction, n * d, density, 1);
            const std::vector<double> x(single.begin(), single.end()); // the same samples in either precision
            const auto expected = naive_matrix(x, n, d, formula);
            const naive::Compressed<double> sparse(x, n, d);
            const naive::Compressed<float> sparse_single(single, n, d);
            check_gram(*formula_gram<float>(naive::dense(x, n, d), formula, {}, 1e-5), expected, 1e-5);
            check_gram(*formula_gram<double>(naive::dense(single, n, d), formula, {}, 0), expected, 0);
            check_gram(*formula_gram<float>(naive::dense(x, n, d), formula, {}, 1e-5, 0), expected, 1e-5);
            // Some of the samples, in another order.
            std::vector<Index> order;
            for (Index i = 0; i < n; i += i % 5 ? 1 : 2) order.push_back((i * 11) % n);
            const auto some = ordered(expected, n, order);
            const auto in_order = [&](auto source) {
                source.order = order.data(), source.rows = Index(order.size());
                return source;
            };
            check_gram(*formula_gram<float>(in_order(naive::dense(x, n, d)), formula, {}, 1e-5), some, 1e-5);
            check_gram(*formula_gram<double>(in_order(naive::dense(x, n, d)), formula, {}, 0), some, 0);
            if (density == 1) continue;
            check_gram(*formula_gram<float>(in_order(sparse.source), formula, {}, 1e-5), some, 1e-5);
            check_gram(*formula_gram<double>(in_order(sparse.source), formula, {}, 0, 0), some, 0);
            check_gram(*formula_gram<float>(naive::dense(single, n, d), formula, {}, 1e-5), expected, 1e-5);
            check_gram(*formula_gram<double>(naive::dense(x, n, d), formula, {}, 0), expected, 0);
            check_gram(*formula_gram<float>(sparse.source, formula, {}, 1e-5), expected, 1e-5);
            check_gram(*formula_gram<float>(sparse_single.source, formula, {}, 1e-5), expected, 1e-5);
            check_gram(*formula_gram<double>(sparse.source, formula, {}, 0), expected, 0);
            check_gram(*formula_gram<double>(sparse_single.source, formula, {}, 0), expected, 0);
            check_gram(*formula_gram<float>(sparse.source, formula, {}, 1e-5, 0), expected, 1e-5);
            check_gram(*formula_gram<double>(sparse_single.source, formula, {}, 0, 0), expected, 0);
        }
    // Samples in float64, far from their centre and close to each other, with zeros that are left out: distances that
    // cancel are computed again from what is packed in float32.
    for (double density : {1.0, 0.3}) {
        check::context = "clusters, density " + std::to_string(density);
        auto x = naive::samples<double>(Reduction::dot, n * d, density, 6);
        for (Index i = 0; i < n; ++i)
            for (Index k = 0; k < d; ++k)
                if (density == 1 || (k + i % 3) % 3 == 0) x[std::size_t(i * d + k)] += i % 3 ? 40 : -40;
        std::vector<double> shift(std::size_t(d), 0.25);
        const auto pairs = formula_gram<float>(naive::dense(x, n, d), kGaussian, Frame{shift.data()}, 1e-5);
        check_gram(*pairs, naive_matrix(x, n, d, kGaussian), 1e-5);
    }
    // Some far from the centre, in float32 for a matrix in float64: who else is in a tile does not matter.
    check::context = "some far out";
    auto mixed = naive::samples<float>(Reduction::dot, n * d, 1.0, 7);
    for (Index i = 0; i < n; i += 7)
        for (Index k = 0; k < d; ++k) mixed[std::size_t(i * d + k)] *= 80.0F;
    const std::vector<double> same(mixed.begin(), mixed.end());
    const auto far = naive_matrix(same, n, d, kGaussian);
    check_gram(*formula_gram<double>(naive::dense(mixed, n, d), kGaussian, {}, 0), far, 0);
    check_gram(*formula_gram<float>(naive::dense(same, n, d), kGaussian, {}, 1e-5), far, 1e-5);
    // Some coordinates are in most samples, and in fewer of some selections, whose entries are the same nevertheless.
    check::context = "uneven";
    auto uneven = naive::samples<double>(Reduction::dot, n * 400, 0.02, 3);
    const auto full = naive::samples<double>(Reduction::dot, n * 400, 1.0, 4);
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < 20; ++k)
            if ((i * 7 + k * 3) % n < n / 40 * (k + 1))
                uneven[std::size_t(i * 400 + k)] = full[std::size_t(i * 400 + k)];
    const naive::Compressed<double> rows(uneven, n, 400);
    CHECK(best_layout<double>(rows.source, rows.source, kGaussian, {}).panelled > 5);
    const auto uneven_matrix = naive_matrix(uneven, n, 400, kGaussian);
    check_gram(*formula_gram<double>(rows.source, kGaussian, {}, 0), uneven_matrix, 0);
    check_gram(*formula_gram<float>(rows.source, kGaussian, {}, 1e-5), uneven_matrix, 1e-5);
    // Lists and panels that are made when they are wanted have the same bits.
    const auto listed = formula_gram<float>(rows.source, kGaussian, {}, 1e-5),
               made = formula_gram<float>(rows.source, kGaussian, {}, 1e-5, listed->bytes() - 1);
    check_gram(*made, uneven_matrix, 1e-5);
    std::vector<float> of_lists(std::size_t(n * n)), of_made(of_lists);
    listed->all().fill(nullptr, 0, n, 0, n, of_lists.data(), n);
    made->all().fill(nullptr, 0, n, 0, n, of_made.data(), n);
    CHECK(of_lists == of_made);
    // Columns that are packed when they are wanted have the same bits.
    check::context = "not kept";
    const auto wide = naive::samples<float>(Reduction::dot, n * 300, 1.0, 5);
    const auto kept = formula_gram<float>(naive::dense(wide, n, 300), kGaussian, {}, 1e-5),
               fresh = formula_gram<float>(naive::dense(wide, n, 300), kGaussian, {}, 1e-5, kept->bytes() - 1);
    CHECK(kept->bytes() == std::size_t(n * 300) * sizeof(float) && fresh->bytes() == 0);
    std::vector<float> a(std::size_t(n * n)), b(a);
    kept->all().fill_symmetric(a.data(), n);
    fresh->all().fill_symmetric(b.data(), n);
    CHECK(a == b);
    // The frame is copied, and selections are framed like the whole.
    check::context = "framed";
    const auto x = naive::samples<double>(Reduction::dot, n * d, 1.0, 2);
    std::vector<double> framed(x), shift(std::size_t(d), 0.5), scale(std::size_t(d), 2.0);
    for (double& v : framed) v = (v - 0.5) * 2;
    const auto gram = formula_gram<double>(naive::dense(x, n, d), kGaussian, {shift.data(), scale.data()}, 0);
    shift.assign(shift.size(), 99), scale.assign(scale.size(), 99);
    check_gram(*gram, naive_matrix(framed, n, d, kGaussian), 0);
}

template <class S> static void stored() {
    check::context = "stored";
    const Index n = 300;
    std::vector<S> memory(std::size_t(n * n * 6), S(99));
    std::vector<double> expected;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
            expected.push_back(double(S(1.0 / double(1 + i + j))));
            memory[std::size_t((i * n * 2 + (n - 1 - j)) * 3)] = S(expected.back());
        }
    check_gram(*given_gram<double>(memory.data() + (n - 1) * 3, every(n), n * 6, Index(-3)), expected, 0);
    std::vector<Index> order;
    for (Index i = 0; i < n / 2; ++i) order.push_back((i * 7) % n);
    check_gram(*given_gram<double>(memory.data() + (n - 1) * 3, order, n * 6, Index(-3)), ordered(expected, n, order),
               0);
}

// The same columns against other rows: to the last bit what a new bind() gives.
template <class T> static void other_rows() {
    const Index n = 200, m = 333, d = 31;
    const std::vector<double> shift(std::size_t(d), 0.25), scale(std::size_t(d), 1.5);
    const auto x = naive::samples<T>(Reduction::dot, n * d, 0.7, 1),
               z = naive::samples<T>(Reduction::dot, m * d, 0.7, 2);
    const naive::Compressed<T> sparse(x, n, d);
    for (Reduction reduction : {Reduction::dot, Reduction::squared_distance, Reduction::l1})
        for (bool framed : {false, true}) {
            check::context = std::string("other rows, ") + naive::name(reduction);
            const Frame frame = framed ? Frame{shift.data(), scale.data()} : Frame{};
            const Formula formula{reduction, {{Op::affine, -0.1, 1.0, {}}}, 0.0};
            auto first = bind_dense(naive::dense(z, m, d), naive::dense(z, m, d), formula, frame);
            std::unique_ptr<Pairs<T>> other = first->with_rows(naive::dense(x, n, d));
            std::unique_ptr<Pairs<T>> third = other ? other->with_rows(sparse.source) : nullptr;
            CHECK(other && third);
            if (!other || !third) continue;
            first.reset(); // what they share outlives it
            const auto fresh = bind_dense(naive::dense(x, n, d), naive::dense(z, m, d), formula, frame);
            std::vector<T> a(std::size_t(n * m)), b(a), c(a);
            fresh->fill(nullptr, 0, n, 0, m, a.data(), m);
            other->fill(nullptr, 0, n, 0, m, b.data(), m);
            third->fill(nullptr, 0, n, 0, m, c.data(), m);
            CHECK(a == b && a == c);
        }
}

// Products with one or several columns of weights, whole or in segments, some of them empty.
template <class T> static void products() {
    const Index d = 5;
    for (Index rows : {0, 1, 7, 501})
        for (Index columns : {1, 6, 700})
            for (Index outputs : {1, 2, 8, 11}) {
                const auto x = naive::samples<T>(Reduction::dot, rows * d, 1.0, 1),
                           z = naive::samples<T>(Reduction::dot, columns * d, 1.0, 2);
                const auto weights = naive::samples<double>(Reduction::dot, columns * outputs, 1.0, 3);
                const auto dense = bind_dense(naive::dense(x, rows, d), naive::dense(z, columns, d),
                                              Formula{Reduction::dot, {}, 0.0}, Frame{});
                const naive::Compressed<T> cx(x, rows, d), cz(z, columns, d);
                const auto sparse = naive::listed(cx.source, cz.source, Formula{Reduction::dot, {}, 0.0}, Frame{});
                std::vector<T> block(std::size_t(rows * columns));
                dense->fill(nullptr, 0, rows, 0, columns, block.data(), columns);
                for (const std::vector<Index>& starts : {std::vector<Index>{0},
                                                         {0, columns / 2},
                                                         {0, 0, columns / 3, columns / 3, columns / 2, columns}}) {
                    check::context = "product " + std::to_string(rows) + " x " + std::to_string(columns) + " x " +
                                     std::to_string(outputs) + " in " + std::to_string(starts.size());
                    const Index segments = Index(starts.size());
                    std::vector<double> first(std::size_t(rows * segments * outputs), -7.0), second(first);
                    set_thread_count(2);
                    product(*dense, rows, columns, weights.data(), outputs, starts, first.data());
                    product(*sparse, rows, columns, weights.data(), outputs, starts, second.data());
                    for (Index i = 0; i < rows; ++i)
                        for (Index s = 0; s < segments; ++s)
                            for (Index o = 0; o < outputs; ++o) {
                                const Index end = s + 1 < segments ? starts[std::size_t(s + 1)] : columns;
                                long double sum = 0, size = 1;
                                for (Index j = starts[std::size_t(s)]; j < end; ++j) {
                                    const auto term = (long double)(block[std::size_t(i * columns + j)]) *
                                                      weights[std::size_t(j * outputs + o)];
                                    sum += term, size += std::abs(term);
                                }
                                const auto at = std::size_t((i * segments + s) * outputs + o);
                                CHECK_CLOSE(first[at], sum, 1e-14, size);
                                CHECK_CLOSE(second[at], sum, kTolerance<T>, size);
                            }
                    for (int threads : {1, 3}) {
                        set_thread_count(threads);
                        std::vector<double> again(first.size());
                        product(*dense, rows, columns, weights.data(), outputs, starts, again.data());
                        CHECK(again == first);
                        product(*sparse, rows, columns, weights.data(), outputs, starts, again.data());
                        CHECK(again == second);
                    }
                }
            }
    set_thread_count(2);
}

// Products of samples with themselves, in which every entry is used twice: as long as a block, and as several.
template <class T, class W> static void symmetric_products() {
    const Index d = 3;
    for (Index n : {0, 1, 37, 700, 1500})
        for (Index outputs : {1, 3, 17}) {
            check::context = "product of " + std::to_string(n) + " with themselves x " + std::to_string(outputs);
            const auto x = naive::samples<T>(Reduction::dot, n * d, 1.0, 1);
            const auto weights = naive::samples<W>(Reduction::dot, n * outputs, 1.0, 3);
            const naive::Compressed<T> listed(x, n, d);
            const auto dense = bind_dense(naive::dense(x, n, d), naive::dense(x, n, d), kGaussian, Frame{});
            const auto sparse = naive::listed(listed.source, listed.source, kGaussian, Frame{});
            for (const Pairs<T>* pairs : {dense.get(), sparse.get()}) {
                const auto size = std::size_t(n * outputs);
                std::vector<double> expected(size), found(size, -7.0), again(size);
                set_thread_count(2);
                product(*pairs, n, n, weights.data(), outputs, {0}, expected.data());
                symmetric_product(*pairs, n, weights.data(), outputs, found.data());
                for (std::size_t i = 0; i < size; ++i)
                    CHECK_CLOSE(found[i], expected[i], 64 * double(std::numeric_limits<W>::epsilon()), double(n));
                for (int threads : {1, 3}) {
                    set_thread_count(threads);
                    symmetric_product(*pairs, n, weights.data(), outputs, again.data());
                    CHECK(again == found);
                }
            }
        }
    set_thread_count(2);
}

int main() {
    set_thread_count(2);
    formulas();
    stored<float>();
    stored<double>();
    other_rows<float>();
    other_rows<double>();
    products<float>();
    products<double>();
    symmetric_products<float, float>();
    symmetric_products<float, double>();
    symmetric_products<double, double>();
    return check::finish();
}
