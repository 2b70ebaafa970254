// The tables of inner loops themselves, for each instruction set of this processor and for the `wide` one:
// registers and tile as AVX-512 has them, so that this shape is executed wherever the tests run.
#include "check.hpp"
#include "kernels/isa.hpp"
#include "naive.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace mercer::wide {
extern const Isa<float> f32;
extern const Isa<double> f64;
extern const IntegerTiles<float> bytes32;
extern const IntegerTiles<double> bytes64;
} // namespace mercer::wide

using namespace mercer;

template <class T> constexpr double kEps = std::numeric_limits<T>::epsilon();

template <class T> static void tiles(const Isa<T>& isa) {
    const int mr = isa.mr, nr = isa.nr;
    CHECK(isa.strip % mr == 0 && isa.strip % nr == 0);
    for (Reduction reduction : naive::reductions())
        for (Index depth : {0, 1, 2, 17, 100})
            for (int rows = 1; rows <= mr; ++rows) {
                check::context = std::string(naive::name(reduction)) + " depth " + std::to_string(depth);
                const auto a = naive::samples<T>(reduction, depth * mr, 0.8, 1),
                           b = naive::samples<T>(reduction, depth * nr, 0.8, 2);
                std::vector<T> sums(std::size_t(mr * nr), T(-7)), halves(std::size_t(mr * nr), T(-7));
                const auto tile = isa.tile[static_cast<int>(reduction)];
                tile(rows, depth, a.data(), b.data(), sums.data(), true);
                const Index half = depth / 2;
                tile(rows, half, a.data(), b.data(), halves.data(), true);
                tile(rows, depth - half, a.data() + half * mr, b.data() + half * nr, halves.data(), false);
                for (int i = 0; i < mr; ++i)
                    for (int j = 0; j < nr; ++j) {
                        const T value = sums[std::size_t(i * nr + j)];
                        if (i >= rows) {
                            CHECK(value == T(-7)); // rows that are not live are not written
                            continue;
                        }
                        auto x = [&](Index k) { return a[std::size_t(k * mr + i)]; };
                        auto z = [&](Index k) { return b[std::size_t(k * nr + j)]; };
                        const Reduction meant = reduction == Reduction::squared_distance
                                                    ? Reduction::dot
                                                    : reduction; // its tile is the dot product
                        const auto expected = naive::reduce(meant, depth, x, z);
                        const auto scale = double(naive::size(meant, depth, x, z));
                        CHECK_CLOSE(value, expected, 16 * kEps<T>, scale);
                        CHECK_CLOSE(halves[std::size_t(i * nr + j)], expected, 16 * kEps<T>, scale);
                    }
            }
}

// Squares are summed exactly as the tile sums, chunk by chunk, so a sample's distance to itself is zero.
template <class T> static void squares_and_distances(const Isa<T>& isa) {
    const int mr = isa.mr, nr = isa.nr;
    for (Index depth : {1, 5, 64, 255, 700, 1501}) {
        check::context = "squares, depth " + std::to_string(depth);
        auto a = naive::samples<T>(Reduction::dot, depth * mr + 64, 1.0, 1);
        auto b = naive::samples<T>(Reduction::dot, depth * nr + 64, 1.0, 2);
        for (Index k = 0; k < depth; ++k) // column j holds sample j mod mr of the rows
            for (int j = 0; j < nr; ++j) b[std::size_t(k * nr + j)] = a[std::size_t(k * mr + j % mr)];
        std::vector<T> of_rows(static_cast<std::size_t>(mr)), of_columns(static_cast<std::size_t>(nr));
        isa.row_squares(depth, a.data(), of_rows.data());
        isa.column_squares(depth, b.data(), of_columns.data());
        for (int i = 0; i < mr; ++i) {
            auto x = [&](Index k) { return a[std::size_t(k * mr + i)]; };
            const auto expected = naive::reduce(Reduction::dot, depth, x, x);
            CHECK_CLOSE(of_rows[std::size_t(i)], expected, 64 * kEps<T>, double(expected));
        }
        for (int j = 0; j < nr; ++j) CHECK(of_columns[std::size_t(j)] == of_rows[std::size_t(j % mr)]);
        const Index step = chunk<T>(depth);
        std::vector<T> sums(std::size_t(mr * nr));
        for (Index k = 0; k < depth; k += step)
            isa.tile[static_cast<int>(Reduction::dot)](mr, std::min(step, depth - k), a.data() + k * mr,
                                                       b.data() + k * nr, sums.data(), k == 0);
        const std::vector<Step> steps{{Op::affine, -0.01, 0.0, {}}, {Op::exp, 1.0, 0.0, {}}};
        for (int rows = 1; rows <= mr; ++rows) {
            std::vector<T> plain(sums), finished(sums);
            isa.distances(rows, of_rows.data(), of_columns.data(), nullptr, nullptr, plain.data());
            isa.distances(rows, of_rows.data(), of_columns.data(), steps.data(), steps.data() + 2, finished.data());
            for (int i = 0; i < mr; ++i)
                for (int j = 0; j < nr; ++j) {
                    const auto at = std::size_t(i * nr + j);
                    if (i >= rows) {
                        CHECK(plain[at] == sums[at] && finished[at] == sums[at]);
                        continue;
                    }
                    const auto expected = naive::reduce(
                        Reduction::squared_distance, depth, [&](Index k) { return a[std::size_t(k * mr + i)]; },
                        [&](Index k) { return b[std::size_t(k * nr + j)]; });
                    CHECK_CLOSE(plain[at], expected, 64 * kEps<T>,
                                double(of_rows[std::size_t(i)]) + double(of_columns[std::size_t(j)]));
                    CHECK_CLOSE(finished[at], naive::apply(steps, plain[at]), 8 * kEps<T>, 1.0);
                    if (j % mr == i) CHECK(plain[at] == T(0) && finished[at] == T(1));
                }
            // Rows with a distance below the bound are left without steps; the bound is above some, not all.
            const T slope = T(0.7), offset = T(-1);
            std::vector<T> mixed(sums);
            const unsigned which = isa.suspects(rows, of_rows.data(), of_columns.data(), slope, offset, steps.data(),
                                                steps.data() + 2, mixed.data());
            CHECK(which >> rows == 0);
            for (int i = 0; i < rows; ++i) {
                bool close = false;
                for (int j = 0; j < nr; ++j)
                    close |= plain[std::size_t(i * nr + j)] <
                             slope * (of_rows[std::size_t(i)] + of_columns[std::size_t(j)]) + offset;
                CHECK((which >> i & 1) == unsigned(close));
                for (auto at = std::size_t(i * nr); at < std::size_t((i + 1) * nr); ++at)
                    CHECK(mixed[at] == (close ? plain[at] : finished[at]));
            }
        }
    }
}

template <class T> static void direct_differences(const Isa<T>& isa) {
    check::context = "direct";
    for (Index depth = 0; depth < 150; ++depth) {
        const auto x = naive::samples<T>(Reduction::dot, depth, 1.0, 1),
                   z = naive::samples<T>(Reduction::dot, depth, 1.0, 2);
        const auto scale = naive::samples<T>(Reduction::chi2, depth, 1.0, 3);
        long double plain = 0, scaled = 0;
        for (Index k = 0; k < depth; ++k) {
            const auto at = std::size_t(k);
            const long double difference = (long double)(x[at]) - z[at];
            plain += difference * difference;
            scaled += difference * difference * scale[at] * scale[at];
        }
        CHECK_CLOSE(isa.direct(depth, x.data(), z.data(), nullptr), plain, 16 * kEps<T>, double(plain) + 1e-30);
        CHECK_CLOSE(isa.direct(depth, x.data(), z.data(), scale.data()), scaled, 16 * kEps<T>, double(scaled) + 1e-30);
        CHECK(isa.direct(depth, x.data(), x.data(), nullptr) == T(0));
        CHECK(isa.direct(depth, x.data(), z.data(), nullptr) == isa.direct(depth, z.data(), x.data(), nullptr));
    }
}

// Every step on values of its domain, and every length, so that whole vectors and the rest are both met.
template <class T> static void steps(const Isa<T>& isa) {
    struct Case {
        std::vector<Step> steps;
        double low, high;
    };
    const Case cases[] = {
        {{{Op::affine, -0.5, 2.0, {}}}, -5, 5},
        {{{Op::integer, 0.0, 0.0, {}}}, -3, 3},
        {{{Op::integer, 1.0, 0.0, {}}}, -3, 3},
        {{{Op::integer, 7.0, 0.0, {}}}, -3, 3},
        {{{Op::power, 0.5, 0.0, {}}}, 0, 9},
        {{{Op::power, 0.7, 0.0, {}}}, 0, 9},
        {{{Op::power, -1.5, 0.0, {}}}, 1, 50},
        {{{Op::exp, 1.0, 0.0, {}}}, -80, 5},
        {{{Op::tanh, 0.0, 0.0, {}}}, -30, 30},
        {{{Op::tanh, 0.0, 0.0, {}}}, -1e-3, 1e-3},
        {{{Op::matern32, 1.3, 0.0, {}}}, 0, 40},
        {{{Op::matern52, 1.3, 0.0, {}}}, 0, 40},
        {{{Op::series, 0.0, 0.0, {1.0, 0.0, 0.5, 2.0}}}, 0, 3},
        {{{Op::is_zero, 0.0, 0.0, {}}}, 0, 1},
        {{{Op::affine, 0.1, 1.0, {}},
          {Op::integer, 3.0, 0.0, {}},
          {Op::affine, -1.0, 0.0, {}},
          {Op::exp, 1.0, 0.0, {}}},
         0,
         5},
        {{}, -1, 1},
    };
    for (const Case& c : cases)
        for (std::size_t n :
             {std::size_t(0), std::size_t(1), std::size_t(3), std::size_t(16), std::size_t(67), std::size_t(1000)}) {
            check::context =
                "step " + std::to_string(c.steps.empty() ? -1 : int(c.steps[0].op)) + " of " + std::to_string(n);
            std::vector<T> values(n + 1, T(-7)), before;
            for (std::size_t i = 0; i < n; ++i)
                values[i] = T(c.low + (c.high - c.low) * double(i) / double(std::max<std::size_t>(1, n - 1)));
            before = values;
            isa.apply(c.steps.data(), c.steps.data() + c.steps.size(), values.data(), n);
            CHECK(values[n] == T(-7)); // nothing after the end
            for (std::size_t i = 0; i < n; ++i) {
                const auto expected = naive::apply(c.steps, before[i]);
                // Rounding the argument of exp changes the value by as much as the argument is large.
                const double size = 1 + std::abs(double(before[i]));
                CHECK_CLOSE(values[i], expected, 8 * kEps<T> * size, std::max(std::abs(double(expected)), 1e-30));
            }
        }
    check::context = "exp beyond its range";
    const std::vector<Step> exponential{{Op::exp, 1.0, 0.0, {}}};
    const T infinity = std::numeric_limits<T>::infinity();
    std::vector<T> values{T(-1e30), -infinity, T(1e30), infinity, T(0), T(-0.0)};
    isa.apply(exponential.data(), exponential.data() + 1, values.data(), values.size());
    CHECK(values[0] == T(0) && values[1] == T(0) && values[2] == infinity && values[3] == infinity);
    CHECK(values[4] == T(1) && values[5] == T(1));
    check::context = "what is not a number";
    std::vector<T> nan(5, std::numeric_limits<T>::quiet_NaN());
    isa.apply(exponential.data(), exponential.data() + 1, nan.data(), nan.size());
    CHECK(std::isnan(nan[0])); // stays so, rather than becoming a number
}

// Products of a block, or of its transpose, with one or several columns of weights in the precision W, at every number
// of rows.
template <class T, class W> static void products(const Isa<T>& isa) {
    for (Index outputs : {1, 16, 48})
        for (Index rows : {0, 1, 3, 4, 9, 29, 150})
            for (Index n : {0, 1, 7, 33, 250})
                for (bool transposed : {false, true}) {
                    check::context = "product of " + std::to_string(rows) + " x " + std::to_string(n) + " with " +
                                     std::to_string(outputs) + (transposed ? " of the transpose" : "");
                    const Index wide = (transposed ? rows : n) + 5, out_stride = outputs + 3;
                    const Index row_stride = transposed ? 1 : wide, stride = transposed ? wide : 1;
                    const auto block = naive::samples<T>(Reduction::dot, (transposed ? n : rows) * wide + 1, 1.0, 1);
                    const auto weights = naive::samples<W>(Reduction::dot, n * outputs + 1, 1.0, 2);
                    std::vector<double> out(std::size_t(rows * out_stride + 1), 0.5);
                    isa.template multiply<W>()(rows, n, block.data(), row_stride, stride, weights.data(), outputs,
                                               out.data(), out_stride);
                    for (Index i = 0; i < rows; ++i)
                        for (Index o = 0; o < out_stride; ++o) {
                            long double sum = 0.5, size = 1;
                            for (Index j = 0; j < n && o < outputs; ++j) {
                                const auto term = (long double)(block[std::size_t(i * row_stride + j * stride)]) *
                                                  weights[std::size_t(j * outputs + o)];
                                sum += term;
                                size += std::abs(term);
                            }
                            CHECK_CLOSE(out[std::size_t(i * out_stride + o)], sum, 16 * kEps<W>, size);
                        }
                    CHECK(out.back() == 0.5);
                }
}

// Lists of what is not zero in a row panel have its products to the last bit, whatever a T stands for, at once or in
// two parts, with one column panel or as many as they take.
template <class T> static void lists_of_nonzeros(const Isa<T>& isa, const Tile<T>& tile, const Lists<T>& lists,
                                                 std::vector<T> a, const std::vector<T>& b, Index depth) {
    const int mr = isa.mr, nr = isa.nr, together = lists.rows;
    check::context += ", lists of " + std::to_string(together);
    CHECK(mr % together == 0 && Index(b.size()) >= lists.abreast * depth * nr);
    for (Index at = 0; at < Index(a.size()); ++at)
        if (at * at % 7 < 4 || at / mr % 5 == 0) a[std::size_t(at)] = T(0);
    const Index half = depth / 2, size = mr * nr;
    const std::vector<Index> cuts = {0, half, depth};
    std::vector<Index> length;
    std::vector<std::uint16_t> which(std::size_t(depth * mr / together));
    std::vector<T> values(static_cast<std::size_t>(depth * mr));
    for (std::size_t part = 0; part < 2; ++part)
        for (int l = 0; l < mr / together; ++l) {
            const Index first = cuts[part], last = cuts[part + 1], list = first * mr / together + l * (last - first);
            length.push_back(0);
            for (Index k = first; k < last; ++k) {
                const T* from = a.data() + k * mr + l * together;
                const std::vector<T> zeros(static_cast<std::size_t>(together), T(0));
                if (std::memcmp(from, zeros.data(), zeros.size() * sizeof(T)) == 0) continue;
                which[std::size_t(list + length.back())] = std::uint16_t(k - first);
                std::copy_n(from, together, values.data() + (list + length.back()++) * together);
            }
        }
    for (int panels = 1; panels <= lists.abreast; ++panels)
        for (int live = together; live <= mr; live += together) {
            std::vector<T> sums(std::size_t(panels * size), T(-7)), found(sums);
            for (std::size_t part = 0; part < 2; ++part) {
                const Index first = cuts[part], count = cuts[part + 1] - first;
                for (int q = 0; q < panels; ++q)
                    tile(live, count, a.data() + first * mr, b.data() + (q * depth + first) * nr,
                         sums.data() + q * size, part == 0);
                lists.sum({live / together, count, length.data() + Index(part) * mr / together,
                           which.data() + first * mr / together, values.data() + first * mr},
                          panels, b.data() + first * nr, depth * nr, found.data(), size, part == 0);
            }
            CHECK(std::memcmp(sums.data(), found.data(), sums.size() * sizeof(T)) == 0);
        }
}
template <class T> static void lists_of_numbers(const Isa<T>& isa) {
    for (Index depth : {1, 2, 17, 100}) {
        check::context = "numbers, depth " + std::to_string(depth);
        lists_of_nonzeros(isa, isa.tile[static_cast<int>(Reduction::dot)], isa.lists,
                          naive::samples<T>(Reduction::dot, depth * isa.mr, 1.0, 1),
                          naive::samples<T>(Reduction::dot, isa.lists.abreast * depth * isa.nr, 1.0, 2), depth);
    }
}

// Integers of type A in rows and B in columns: sums are exact, at once or in two parts.
template <class A, class B, class T> static void integers(const Isa<T>& isa, const IntegerTiles<T>& tiles) {
    const int mr = isa.mr, nr = isa.nr, group = int(sizeof(T) / sizeof(A));
    std::mt19937 random(5);
    auto fill = [&](auto& values) {
        using V = std::decay_t<decltype(values[0])>;
        std::uniform_int_distribution<int> any(sizeof(V) == 1 ? std::numeric_limits<V>::min() : -255,
                                               sizeof(V) == 1 ? std::numeric_limits<V>::max() : 255);
        for (V& value : values) value = V(any(random));
    };
    for (Index depth : {1, 2, 17, 100}) {
        for (int rows = 1; rows <= mr; ++rows) {
            check::context = "integers of " + std::to_string(8 * sizeof(A)) + " bits, depth " + std::to_string(depth);
            std::vector<A> a(std::size_t(depth * mr * group));
            std::vector<B> b(std::size_t(depth * nr * group));
            fill(a), fill(b);
            const T *x = reinterpret_cast<const T*>(a.data()), *z = reinterpret_cast<const T*>(b.data());
            std::vector<T> sums(std::size_t(mr * nr)), halves(sums);
            const Index half = depth / 2;
            tiles.tile(rows, depth, x, z, sums.data(), true);
            tiles.tile(rows, half, x, z, halves.data(), true);
            tiles.tile(rows, depth - half, x + half * mr, z + half * nr, halves.data(), false);
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < nr; ++j) {
                    std::int32_t expected = 0;
                    for (Index k = 0; k < depth; ++k)
                        for (int g = 0; g < group; ++g)
                            expected += std::int32_t(a[std::size_t((k * mr + i) * group + g)]) *
                                        std::int32_t(b[std::size_t((k * nr + j) * group + g)]);
                    for (const auto& found : {sums, halves}) {
                        std::int32_t parts[sizeof(T) / 4];
                        std::memcpy(parts, &found[std::size_t(i * nr + j)], sizeof parts);
                        CHECK(std::accumulate(parts, parts + sizeof(T) / 4, 0) == expected);
                    }
                }
        }
        std::vector<T> x(std::size_t(depth * mr)), z(std::size_t(tiles.lists.abreast * depth * nr));
        std::vector<A> a(x.size() * group);
        std::vector<B> b(z.size() * group);
        fill(a), fill(b);
        std::memcpy(x.data(), a.data(), a.size() * sizeof(A)), std::memcpy(z.data(), b.data(), b.size() * sizeof(B));
        lists_of_nonzeros(isa, tiles.tile, tiles.lists, x, z, depth);
    }
}

template <class T> static void all(const char* name, const Isa<T>& isa, const IntegerTiles<T>* bytes) {
    std::printf("%s, %d bits: tile of %d x %d\n", name, int(8 * sizeof(T)), isa.mr, isa.nr);
    const int before = check::failures;
    tiles(isa);
    squares_and_distances(isa);
    lists_of_numbers(isa);
    integers<std::int16_t, std::int16_t>(isa, isa.words);
    if (bytes) integers<std::uint8_t, std::int8_t>(isa, *bytes);
    direct_differences(isa);
    steps(isa);
    products<T, T>(isa);
    products<T, double>(isa);
    if (check::failures != before) std::printf("%s: %d checks failed\n", name, check::failures - before);
}

static bool has_wide() {
#if defined(MERCER_WIDE_NEEDS_AVX2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

int main() {
    for (const InstructionSet* set : instruction_sets()) {
        if (!set->available()) {
            std::printf("this processor has no %s: not tested\n", set->name);
            continue;
        }
        all(set->name, set->of<float>(), set->bytes<float>());
        all(set->name, set->of<double>(), set->bytes<double>());
    }
    if (has_wide()) {
        CHECK(wide::f32.mr == 12 && wide::f32.nr == 32 && wide::f64.mr == 12 && wide::f64.nr == 16);
        all("wide", wide::f32, &wide::bytes32);
        all("wide", wide::f64, &wide::bytes64);
    }
    return check::finish();
}
