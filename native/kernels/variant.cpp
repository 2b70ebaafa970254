// The inner loops of the engine. This file is compiled once per instruction set; MERCER_ISA names the
// namespace, MERCER_VECTOR_BYTES the register width and MERCER_TILE_ROWS the rows of a tile.
// Only names of that namespace may be defined here: a shared inline function could otherwise be linked
// from the widest variant and run on a processor that lacks it.
#include "kernels/isa.hpp"
#include "kernels/simd.hpp"

namespace mercer::MERCER_ISA {

struct Dot {
    template <class S, class V> static V add(V acc, V a, V b) { return acc + a * b; }
};
struct SquaredDirect {
    template <class S, class V> static V add(V acc, V a, V b) {
        V d = a - b;
        return acc + d * d;
    }
};
// Additions and comparisons share half of the arithmetic units of many processors. Where there is a fused
// multiply-add, times one (a one that the compiler cannot see) lets the other half take a part, at the same rounding.
#if defined(__FMA__)
template <class T> const volatile T kOne = T(1);
template <class S, class V> V plus(V a, V b, V one) { return a * one + b; }
template <class S, class V> V minus(V a, V b, V one) { return S::fused_minus(a, one, b); }
#else
template <class T> constexpr T kOne = T(1);
template <class S, class V> V plus(V a, V b, V) { return a + b; }
template <class S, class V> V minus(V a, V b, V) { return a - b; }
#endif
struct L1 {
    template <class S, class V> static V add_one(V acc, V a, V b, V one) { return plus<S>(S::abs(a - b), acc, one); }
};
struct Linf {
    template <class S, class V> static V add_one(V acc, V a, V b, V one) {
        return S::max(acc, S::abs(minus<S>(a, b, one)));
    }
};
struct Intersection {
    template <class S, class V> static V add_one(V acc, V a, V b, V one) { return plus<S>(S::min(a, b), acc, one); }
};
// Two fractions at a time over their common denominator: division is the slow part. A denominator of zero, whose
// numerator is zero too, becomes one.
template <class S, class V> V fractions(V n0, V s0, V n1, V s1) {
    using T = decltype(n0[0] + 0);
    const V zero = S::splat(T(0)), one = S::splat(T(1));
    s0 = S::select(s0 == zero, one, s0);
    s1 = S::select(s1 == zero, one, s1);
    return (n0 * s1 + n1 * s0) / (s0 * s1);
}
struct Chi2 {
    template <class S, class V> static V add2(V acc, V a0, V b0, V a1, V b1) {
        V sum = fractions<S>(a0 * b0, a0 + b0, a1 * b1, a1 + b1);
        return acc + (sum + sum);
    }
};
struct Chi2Distance {
    template <class S, class V> static V add2(V acc, V a0, V b0, V a1, V b1) {
        V d0 = a0 - b0, d1 = a1 - b1;
        return acc + fractions<S>(d0 * d0, a0 + b0, d1 * d1, a1 + b1);
    }
};
template <class T> constexpr T kTiny = sizeof(T) == 4 ? T(1.17549435e-38) : T(2.2250738585072014e-308);
// With r = min/max, the term is max ((1 + r) log2(1 + r) - r log2 r) / 2: a sum of non-negative parts.
struct JensenShannon {
    template <class S, class V> static V add(V acc, V a, V b) {
        using T = decltype(a[0] + 0);
        V one = S::splat(T(1));
        V high = S::max(a, b);
        V r = S::min(a, b) / (high + S::splat(kTiny<T>));
        V u = one + r;
        V log_u = S::log(u) + (r - (u - one)) / u;
        V log_r = S::log(S::max(r, S::splat(kTiny<T>)));
        return acc + high * (u * log_u - r * log_r) * S::splat(T(0.72134752044448170368));
    }
};
struct Equal {
    template <class S, class V> static V add(V acc, V a, V b) {
        using T = decltype(a[0] + 0);
        return acc + S::select(a == b, S::splat(T(1)), S::splat(T(0)));
    }
};

template <class T> constexpr int kRows = MERCER_TILE_ROWS;
template <class T> constexpr int kColumns = 2 * Simd<T>::lanes;

template <class T, class Reduction, int R>
void tile_rows(std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int L = S::lanes, MR = kRows<T>, NR = kColumns<T>;
    V c[R][2] = {};
    if constexpr (requires {
                      &Reduction::template add2<S, V>;
                  }) { // coordinates in twos; a last single one beside zeros
        for (std::ptrdiff_t k = 0; k < depth; k += 2) {
            const bool both = k + 1 < depth;
            V b0[2] = {S::load(b), S::load(b + L)};
            V b1[2] = {both ? S::load(b + NR) : V{}, both ? S::load(b + NR + L) : V{}};
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i) {
                V a0 = S::splat(a[i]), a1 = S::splat(both ? a[MR + i] : T(0));
                for (int j = 0; j < 2; ++j) c[i][j] = Reduction::template add2<S>(c[i][j], a0, b0[j], a1, b1[j]);
            }
            a += 2 * MR;
            b += 2 * NR;
        }
    } else {
        [[maybe_unused]] const V one = S::splat(kOne<T>);
#pragma GCC unroll 4
        for (std::ptrdiff_t k = 0; k < depth; ++k) {
            V b0 = S::load(b), b1 = S::load(b + L);
#pragma GCC unroll 16
            for (int i = 0; i < R; ++i) {
                V ai = S::splat(a[i]);
                if constexpr (requires { &Reduction::template add_one<S, V>; }) {
                    c[i][0] = Reduction::template add_one<S>(c[i][0], ai, b0, one);
                    c[i][1] = Reduction::template add_one<S>(c[i][1], ai, b1, one);
                } else {
                    c[i][0] = Reduction::template add<S>(c[i][0], ai, b0);
                    c[i][1] = Reduction::template add<S>(c[i][1], ai, b1);
                }
            }
            a += MR;
            b += NR;
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        T* p = acc + i * NR;
        if (!first) {
            if constexpr (__is_same(Reduction, Linf)) {
                c[i][0] = S::max(c[i][0], S::load(p));
                c[i][1] = S::max(c[i][1], S::load(p + L));
            } else {
                c[i][0] = c[i][0] + S::load(p);
                c[i][1] = c[i][1] + S::load(p + L);
            }
        }
        S::store(p, c[i][0]);
        S::store(p + L, c[i][1]);
    }
}

template <class T>
void listed(std::ptrdiff_t count, const std::int32_t* which, const T* a, const T* b, T* acc, bool first) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int L = S::lanes, MR = kRows<T>, NR = kColumns<T>;
    V c[MR][2] = {};
#pragma GCC unroll 2
    for (std::ptrdiff_t k = 0; k < count; ++k, a += MR) {
        const T* at = b + std::ptrdiff_t(which[k]) * NR;
        const V b0 = S::load(at), b1 = S::load(at + L);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            const V ai = S::splat(a[i]);
            c[i][0] = Dot::add<S>(c[i][0], ai, b0);
            c[i][1] = Dot::add<S>(c[i][1], ai, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i, acc += NR) {
        S::store(acc, first ? c[i][0] : c[i][0] + S::load(acc));
        S::store(acc + L, first ? c[i][1] : c[i][1] + S::load(acc + L));
    }
}

// Reductions with add_one need more registers than a dot product; with 16 of them, half of a tile at a time fits.
constexpr int kPass = MERCER_VECTOR_BYTES == 64 ? MERCER_TILE_ROWS : 3;

// Panels are always MR wide, but only the live rows are computed: a single row costs a single row.
template <class T, class Reduction, int R>
void tile(int rows, std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    if constexpr (R > 1) {
        if (rows < R) return tile<T, Reduction, R - 1>(rows, depth, a, b, acc, first);
    }
    if constexpr (R > kPass && requires { &Reduction::template add_one<Simd<T>, typename Simd<T>::V>; }) {
        tile_rows<T, Reduction, kPass>(depth, a, b, acc, first);
        tile_rows<T, Reduction, R - kPass>(depth, a + kPass, b, acc + kPass * kColumns<T>, first);
    } else {
        tile_rows<T, Reduction, R>(depth, a, b, acc, first);
    }
}

// Words: as many 16-bit integers as fit into a T. Their products are added in pairs, exactly.
using Ints = Simd<float>::I;
template <class T> Ints load_ints(const T* p) {
    Ints v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class T> void store_ints(T* p, Ints v) { std::memcpy(p, &v, sizeof v); }
template <class T> Ints splat_word(const T* p) {
    typename Simd<T>::Int word;
    std::memcpy(&word, p, sizeof word);
    return reinterpret_cast<Ints>(Simd<T>::splat_int(word));
}
// The sum of the 32-bit integers in the place of every T.
inline Simd<float>::V summed(Ints v, float) { return __builtin_convertvector(v, Simd<float>::V); }
inline Simd<double>::V summed(Ints v, double) {
    using S = Simd<double>;
    const S::I both = reinterpret_cast<S::I>(v), sum = ((both << 32) >> 32) + (both >> 32);
    return S::from_bits(sum + S::bits(S::magic())) - S::magic();
}
template <class I> I multiply_words(I a, I b) {
#if defined(__x86_64__)
    if constexpr (sizeof(I) == 16) return I(_mm_madd_epi16(__m128i(a), __m128i(b)));
#if defined(__AVX2__)
    if constexpr (sizeof(I) == 32) return I(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#endif
#if defined(__AVX512BW__)
    if constexpr (sizeof(I) == 64) return I(_mm512_madd_epi16(__m512i(a), __m512i(b)));
#endif
#endif
    const I low_a = (a << 16) >> 16, low_b = (b << 16) >> 16;
    return low_a * low_b + (a >> 16) * (b >> 16);
}

template <class T, int R> void words_tile_rows(std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    constexpr int L = Simd<T>::lanes, MR = kRows<T>, NR = kColumns<T>;
    Ints c[R][2] = {};
#pragma GCC unroll 4
    for (std::ptrdiff_t k = 0; k < depth; ++k, a += MR, b += NR) {
        const Ints b0 = load_ints(b), b1 = load_ints(b + L);
#pragma GCC unroll 16
        for (int i = 0; i < R; ++i) {
            const Ints ai = splat_word(a + i);
            c[i][0] += multiply_words(ai, b0);
            c[i][1] += multiply_words(ai, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
        T* p = acc + i * NR;
        store_ints(p, first ? c[i][0] : c[i][0] + load_ints(p));
        store_ints(p + L, first ? c[i][1] : c[i][1] + load_ints(p + L));
    }
}
template <class T, int R> void words_tile(int rows, std::ptrdiff_t depth, const T* a, const T* b, T* acc, bool first) {
    if constexpr (R > 1) {
        if (rows < R) return words_tile<T, R - 1>(rows, depth, a, b, acc, first);
    }
    words_tile_rows<T, R>(depth, a, b, acc, first);
}
template <class T>
void words_listed(std::ptrdiff_t count, const std::int32_t* which, const T* a, const T* b, T* acc, bool first) {
    constexpr int L = Simd<T>::lanes, MR = kRows<T>, NR = kColumns<T>;
    Ints c[MR][2] = {};
#pragma GCC unroll 2
    for (std::ptrdiff_t k = 0; k < count; ++k, a += MR) {
        const T* at = b + std::ptrdiff_t(which[k]) * NR;
        const Ints b0 = load_ints(at), b1 = load_ints(at + L);
#pragma GCC unroll 16
        for (int i = 0; i < MR; ++i) {
            const Ints ai = splat_word(a + i);
            c[i][0] += multiply_words(ai, b0);
            c[i][1] += multiply_words(ai, b1);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < MR; ++i, acc += NR) {
        store_ints(acc, first ? c[i][0] : c[i][0] + load_ints(acc));
        store_ints(acc + L, first ? c[i][1] : c[i][1] + load_ints(acc + L));
    }
}
// Sums of squares of the samples of a panel, `Width` words apart. Whole vectors are loaded, so the panel must be
// followed by a vector's worth of readable memory.
template <class T, int Width> void word_squares(std::ptrdiff_t depth, const T* panel, T* out) {
    constexpr int L = Simd<T>::lanes, count = (Width + L - 1) / L;
    Ints total[count] = {};
    for (std::ptrdiff_t k = 0; k < depth; ++k)
        for (int i = 0; i < count; ++i) {
            const Ints words = load_ints(panel + k * Width + i * L);
            total[i] += multiply_words(words, words);
        }
    T sums[count * L];
    for (int i = 0; i < count; ++i) store_ints(sums + i * L, total[i]);
    std::memcpy(out, sums, sizeof(T) * Width);
}

// The chunked order of tile(), and its very instructions, so that the distance of a sample to itself is
// exactly zero. `at(k, i)` gives coordinate k of sample i (or of a vector of samples).
template <class T, int Count, class At> void squares(std::ptrdiff_t depth, At at, typename Simd<T>::V (&total)[Count]) {
    using S = Simd<T>;
    const std::ptrdiff_t step = chunk<T>(depth);
    for (std::ptrdiff_t start = 0; start < depth; start += step) {
        std::ptrdiff_t stop = start + step < depth ? start + step : depth;
        typename S::V sum[Count] = {};
        for (std::ptrdiff_t k = start; k < stop; ++k)
#pragma GCC unroll 16
            for (int i = 0; i < Count; ++i) sum[i] = Dot::add<S>(sum[i], at(k, i), at(k, i));
#pragma GCC unroll 16
        for (int i = 0; i < Count; ++i) total[i] = sum[i] + total[i];
    }
}
// Whole vectors are loaded, so the panel must be followed by a vector's worth of readable memory.
template <class T> void row_squares(std::ptrdiff_t depth, const T* a, T* out) {
    constexpr int MR = kRows<T>, L = Simd<T>::lanes, count = (MR + L - 1) / L;
    typename Simd<T>::V total[count] = {};
    squares<T>(depth, [=](std::ptrdiff_t k, int i) { return Simd<T>::load(a + k * MR + i * L); }, total);
    for (int i = 0; i < MR; ++i) out[i] = total[i / L][i % L];
}
template <class T> void column_squares(std::ptrdiff_t depth, const T* b, T* out) {
    constexpr int NR = kColumns<T>, L = Simd<T>::lanes;
    typename Simd<T>::V total[2] = {};
    squares<T>(depth, [=](std::ptrdiff_t k, int j) { return Simd<T>::load(b + k * NR + j * L); }, total);
    for (int j = 0; j < 2; ++j) Simd<T>::store(out + j * L, total[j]);
}

// sum (scale (x - z))^2 from the samples themselves, differences first: no cancellation.
template <class T> T direct(std::ptrdiff_t depth, const T* x, const T* z, const T* scale) {
    using S = Simd<T>;
    constexpr std::ptrdiff_t L = S::lanes;
    typename S::V sum[4] = {};
    std::ptrdiff_t k = 0;
    for (; k + 4 * L <= depth; k += 4 * L)
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) {
            auto d = S::load(x + k + u * L) - S::load(z + k + u * L);
            if (scale) d = d * S::load(scale + k + u * L);
            sum[u] = sum[u] + d * d;
        }
    T lanes[L], total = 0;
    S::store(lanes, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (std::ptrdiff_t j = 0; j < L; ++j) total += lanes[j];
    for (; k < depth; ++k) {
        T d = x[k] - z[k];
        if (scale) d *= scale[k];
        total += d * d;
    }
    return total;
}

// A parameter in the precision of the values. One too large for it becomes the largest, so that 0 times it is 0.
template <class T> T narrow(double value) {
    constexpr double largest = sizeof(T) == 4 ? 3.4028234663852886e38 : 1.7976931348623157e308;
    return T(value > largest ? largest : value < -largest ? -largest : value);
}

// Applies the steps to U vectors held in registers; several at a time hide the latency of exp and log. Three rows of a
// tile are six vectors.
constexpr int kTogether = 6;
template <class T, int U> void run(const Step* step, const Step* end, typename Simd<T>::V (&v)[U]) {
    using S = Simd<T>;
    using V = typename S::V;
    const V one = S::splat(T(1)), zero = S::splat(T(0));
    auto each = [&](auto f) {
#pragma GCC unroll 6
        for (int u = 0; u < U; ++u) v[u] = f(v[u]);
    };
    for (; step != end; ++step) {
        const V a = S::splat(narrow<T>(step->a)), b = S::splat(narrow<T>(step->b));
        switch (step->op) {
        case Op::affine: each([=](V x) { return a * x + b; }); break;
        case Op::exp: each([=](V x) { return S::exp(a * x); }); break;
        case Op::tanh: each([](V x) { return S::tanh(x); }); break;
        case Op::integer: {
            V base[U], result[U];
            for (int u = 0; u < U; ++u) base[u] = v[u], result[u] = one;
            for (auto e = static_cast<unsigned long long>(step->a); e; e >>= 1)
                for (int u = 0; u < U; ++u) {
                    if (e & 1) result[u] = result[u] * base[u];
                    base[u] = base[u] * base[u];
                }
            for (int u = 0; u < U; ++u) v[u] = result[u];
            break;
        }
        case Op::power:
            if (step->a == 0.5)
                each([](V x) { return S::sqrt(x); });
            else
                each([=](V x) { return S::select(x == zero, zero, S::exp(a * S::log(x))); });
            break;
        case Op::decay: // exp(-a log(1 + b v)), the logarithm corrected for the rounding of 1 + b v
            each([=](V x) {
                V t = S::min(S::splat(T(sizeof(T) == 4 ? 1e38 : 1e308)), b * x), u = one + t; // never infinity
                return S::exp(-a * (S::log(u) + (t - (u - one)) / u));
            });
            break;
        case Op::matern32:
            each([=](V x) {
                V t = S::min(S::splat(T(1e15)), a * S::sqrt(x)); // never infinity times zero
                return (one + t) * S::exp(-t);
            });
            break;
        case Op::matern52:
            each([=](V x) {
                V t = S::min(S::splat(T(1e15)), a * S::sqrt(x));
                return (one + t + t * t * S::splat(T(1.0 / 3))) * S::exp(-t);
            });
            break;
        case Op::series:
            each([=](V x) {
                V p = zero;
                for (std::size_t j = step->c.size(); j-- > 0;) p = p * x + S::splat(T(step->c.data()[j]));
                return p;
            });
            break;
        case Op::is_zero: each([=](V x) { return S::select(x == zero, one, zero); }); break;
        }
    }
}

template <class T, int U> void apply_some(const Step* step, const Step* end, T* values) {
    using S = Simd<T>;
    typename S::V v[U];
    for (int u = 0; u < U; ++u) v[u] = S::load(values + u * S::lanes);
    run<T>(step, end, v);
    for (int u = 0; u < U; ++u) S::store(values + u * S::lanes, v[u]);
}
template <class T> void apply(const Step* step, const Step* end, T* values, std::size_t n) {
    constexpr std::size_t L = Simd<T>::lanes;
    std::size_t i = 0;
    for (; i + kTogether * L <= n; i += kTogether * L) apply_some<T, kTogether>(step, end, values + i);
    for (; i + 2 * L <= n; i += 2 * L) apply_some<T, 2>(step, end, values + i);
    for (; i < n; i += L) {
        T lanes[L] = {};
        const std::size_t count = n - i < L ? n - i : L;
        for (std::size_t j = 0; j < count; ++j) lanes[j] = values[i + j];
        apply_some<T, 1>(step, end, lanes);
        for (std::size_t j = 0; j < count; ++j) values[i + j] = lanes[j];
    }
}

template <class T>
unsigned suspects(int rows, const T* row_squares, const T* column_squares, T slope, T offset, T* tile) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int NR = kColumns<T>, L = S::lanes;
    const V c[2] = {S::load(column_squares), S::load(column_squares + L)};
    const V zero = S::splat(T(0)), a = S::splat(slope), b = S::splat(offset);
    const auto any = [](typename S::I lanes) {
        typename S::Int all = 0;
        for (int l = 0; l < L; ++l) all |= lanes[l];
        return all != 0;
    };
    typename S::I found = S::splat_int(0);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < 2; ++j) {
            T* at = tile + i * NR + j * L;
            const V squares = S::splat(row_squares[i]) + c[j], dot = S::load(at);
            const V value = S::max(squares - (dot + dot), zero);
            found |= value < a * squares + b;
            S::store(at, value);
        }
    if (!any(found)) return 0;
    unsigned which = 0;
    for (int i = 0; i < rows; ++i) {
        const V square = S::splat(row_squares[i]);
        const T* at = tile + i * NR;
        const bool here = any((S::load(at) < a * (square + c[0]) + b) | (S::load(at + L) < a * (square + c[1]) + b));
        which |= unsigned(here) << i;
    }
    return which;
}

// Rows of a tile at a time, each of two vectors.
template <class T, int R>
void distances_of(const T* row_squares, const T* column_squares, const Step* step, const Step* end, T* tile) {
    using S = Simd<T>;
    using V = typename S::V;
    constexpr int L = S::lanes;
    const V c[2] = {S::load(column_squares), S::load(column_squares + L)};
    V v[2 * R];
    for (int u = 0; u < 2 * R; ++u) {
        const V dot = S::load(tile + u * L);
        v[u] = S::max((row_squares[u / 2] + c[u % 2]) - (dot + dot), S::splat(T(0)));
    }
    run<T>(step, end, v);
    for (int u = 0; u < 2 * R; ++u) S::store(tile + u * L, v[u]);
}
template <class T>
void distances(int rows, const T* row_squares, const T* column_squares, const Step* step, const Step* end, T* tile) {
    constexpr int NR = kColumns<T>, R = kTogether / 2;
    int i = 0;
    for (; i + R <= rows; i += R) distances_of<T, R>(row_squares + i, column_squares, step, end, tile + i * NR);
    for (; i < rows; ++i) distances_of<T, 1>(row_squares + i, column_squares, step, end, tile + i * NR);
}

template <class T, int R> void word_distances_of(const T* row_squares, const T* column_squares, T unit,
                                                 const Step* step, const Step* end, T* tile) {
    using S = Simd<T>;
    constexpr int L = S::lanes;
    const Ints c[2] = {load_ints(column_squares), load_ints(column_squares + L)};
    typename S::V v[2 * R];
    for (int u = 0; u < 2 * R; ++u) {
        const Ints dot = load_ints(tile + u * L);
        v[u] = summed(splat_word(row_squares + u / 2) + c[u % 2] - (dot + dot), T()) * unit;
    }
    run<T>(step, end, v);
    for (int u = 0; u < 2 * R; ++u) S::store(tile + u * L, v[u]);
}
template <class T> void word_distances(int rows, const T* row_squares, const T* column_squares, T unit,
                                       const Step* step, const Step* end, T* tile) {
    constexpr int NR = kColumns<T>, R = kTogether / 2;
    int i = 0;
    for (; i + R <= rows; i += R)
        word_distances_of<T, R>(row_squares + i, column_squares, unit, step, end, tile + i * NR);
    for (; i < rows; ++i) word_distances_of<T, 1>(row_squares + i, column_squares, unit, step, end, tile + i * NR);
}

template <class T> double dot(std::ptrdiff_t n, const T* values, const double* weights) {
    double sum[8] = {}, total = 0;
    std::ptrdiff_t j = 0;
    for (; j + 8 <= n; j += 8)
        for (int l = 0; l < 8; ++l) sum[l] += double(values[j + l]) * weights[j + l];
    for (; j < n; ++j) total += double(values[j]) * weights[j];
    for (int l = 0; l < 8; ++l) total += sum[l];
    return total;
}

// Four rows and eight outputs at a time stay in registers.
template <class T, int R> void multiply_rows(std::ptrdiff_t n, const T* block, std::ptrdiff_t stride,
                                             const double* weights, std::ptrdiff_t padded, double* out,
                                             std::ptrdiff_t out_stride) {
    double sum[R][8] = {};
    for (std::ptrdiff_t j = 0; j < n; ++j)
        for (int r = 0; r < R; ++r) {
            const double value = double(block[r * stride + j]);
            for (int o = 0; o < 8; ++o) sum[r][o] += value * weights[j * padded + o];
        }
    for (int r = 0; r < R; ++r)
        for (int o = 0; o < 8; ++o) out[r * out_stride + o] += sum[r][o];
}

template <class T> void multiply(std::ptrdiff_t rows, std::ptrdiff_t n, const T* block, std::ptrdiff_t stride,
                                 const double* weights, std::ptrdiff_t padded, double* out, std::ptrdiff_t out_stride) {
    if (padded == 1) {
        for (std::ptrdiff_t r = 0; r < rows; ++r) out[r * out_stride] += dot(n, block + r * stride, weights);
        return;
    }
    for (std::ptrdiff_t o = 0; o < padded; o += 8) {
        std::ptrdiff_t r = 0;
        for (; r + 4 <= rows; r += 4)
            multiply_rows<T, 4>(n, block + r * stride, stride, weights + o, padded, out + r * out_stride + o,
                                out_stride);
        for (; r < rows; ++r)
            multiply_rows<T, 1>(n, block + r * stride, stride, weights + o, padded, out + r * out_stride + o,
                                out_stride);
    }
}

constexpr int strip(int mr, int nr, int wanted) {
    int unit = nr;
    while (unit % mr) unit += nr;
    return (wanted + unit / 2) / unit * unit;
}

template <class T> constexpr Isa<T> table() {
    constexpr int MR = kRows<T>, NR = kColumns<T>;
    return Isa<T>{MR,
                  NR,
                  strip(MR, NR, sizeof(T) == 4 ? 240 : 144),
                  {tile<T, Dot, MR>, tile<T, Dot, MR>, tile<T, SquaredDirect, MR>, tile<T, L1, MR>, tile<T, Linf, MR>,
                   tile<T, Intersection, MR>, tile<T, Chi2, MR>, tile<T, Chi2Distance, MR>, tile<T, JensenShannon, MR>,
                   tile<T, Equal, MR>},
                  listed<T>,
                  row_squares<T>,
                  column_squares<T>,
                  distances<T>,
                  suspects<T>,
                  {words_tile<T, MR>, words_listed<T>, word_squares<T, MR>, word_squares<T, NR>, word_distances<T>},
                  direct<T>,
                  apply<T>,
                  multiply<T>};
}

extern const Isa<float> f32;
extern const Isa<double> f64;
const Isa<float> f32 = table<float>();
const Isa<double> f64 = table<double>();

} // namespace mercer::MERCER_ISA
