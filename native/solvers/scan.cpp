// The inner loops of the SMO solver, compiled once per instruction set like those of the kernels (variant.cpp there
// says what may be defined in such a file).
#include "solvers/scan.hpp"
#include "kernels/simd.hpp"

namespace mercer::MERCER_ISA {

// Keeps the largest of many vectors, lane by lane, with its place.
template <class T> struct Running {
    using S = Simd<T>;
    typename S::V value;
    typename S::I place;

    explicit Running(T start) : value(S::splat(start)), place(typename S::I{}) {}
    void see(typename S::V v, typename S::I where) {
        const typename S::I better = v >= value;
        value = S::max(v, value);
        place = (where & better) | (place & ~better);
    }
    // The last among equals, so that the result does not depend on the width of a vector; LIBSVM does the same.
    void reduce(T& best, std::ptrdiff_t& where) const {
        for (int l = 0; l < S::lanes; ++l) {
            const std::ptrdiff_t at = std::ptrdiff_t(place[l]) * S::lanes + l;
            if (value[l] > best || (value[l] == best && at > where)) best = value[l], where = at;
        }
    }
};

template <class T> constexpr T kInfinity = sizeof(T) == 4 ? T(__builtin_inff()) : T(__builtin_inf());

template <class T, class Next> Extreme<T> scan_largest(std::ptrdiff_t n, const T* rise, Next next) {
    using S = Simd<T>;
    constexpr std::ptrdiff_t L = S::lanes;
    Running<T> first(-kInfinity<T>), second(-kInfinity<T>);
    auto even = S::splat_int(0), odd = S::splat_int(1);
    const auto two = S::splat_int(2);
    std::ptrdiff_t k = 0;
    for (; k + 2 * L <= n; k += 2 * L, even += two, odd += two) {
        first.see(next(k) + S::load(rise + k), even);
        second.see(next(k + L) + S::load(rise + k + L), odd);
    }
    if (k < n) first.see(next(k) + S::load(rise + k), even);
    Extreme<T> best{-kInfinity<T>, 0};
    first.reduce(best.value, best.where);
    second.reduce(best.value, best.where);
    return best;
}

template <class T> Extreme<T> largest(std::ptrdiff_t n, const T* slope, const T* rise) {
    return scan_largest<T>(n, rise, [=](std::ptrdiff_t k) { return Simd<T>::load(slope + k); });
}

template <class T> Extreme<T> step(std::ptrdiff_t n, T* slope, T a, const T* u, T b, const T* v, const T* rise) {
    using S = Simd<T>;
    const auto va = S::splat(a), vb = S::splat(b);
    return scan_largest<T>(n, rise, [=](std::ptrdiff_t k) {
        const auto s = S::load(slope + k) - va * S::load(u + k) - vb * S::load(v + k);
        S::store(slope + k, s);
        return s;
    });
}

template <class T>
Partner<T> partner(std::ptrdiff_t n, const T* slope, const T* fall, const T* row, const T* diagonal, T own, T top) {
    using S = Simd<T>;
    constexpr std::ptrdiff_t L = S::lanes;
    const auto zero = S::splat(T(0)),
               least = S::splat((sizeof(T) == 4 ? T(1e-7) : T(1e-12)) * (own < 0 ? -own : own) + T(1e-30));
    const auto vtop = S::splat(top), vown = S::splat(own), none = S::splat(T(-1));
    Running<T> best(T(-1));
    auto low = S::splat(kInfinity<T>);
    auto at = S::splat_int(0);
    const auto one = S::splat_int(1);
    for (std::ptrdiff_t k = 0; k < n; k += L, at += one) {
        const auto s = S::load(slope + k) + S::load(fall + k);
        low = S::min(s, low);
        const auto difference = vtop - s;
        const auto row_k = S::load(row + k);
        const auto curvature = S::max((vown + S::load(diagonal + k)) - (row_k + row_k), least);
        best.see(S::select(difference > zero, difference * difference / curvature, none), at);
    }
    Partner<T> result{T(-1), kInfinity<T>, 0};
    best.reduce(result.gain, result.where);
    for (int l = 0; l < L; ++l)
        if (low[l] < result.lowest) result.lowest = low[l];
    return result;
}

// f[first .. last) += R rows, while the `next` ones after them, which may be far from all that was read before, are
// asked for.
template <class T, int R> void accumulate_rows(std::ptrdiff_t first, std::ptrdiff_t last, const T* const* rows,
                                               const double* delta, double* __restrict f, std::ptrdiff_t next) {
    static_assert(R == 1 || R == 4);
    constexpr std::ptrdiff_t kPiece = 64, kLine = 64 / sizeof(T);
    const T *u = rows[0], *v = rows[R > 1 ? 1 : 0], *w = rows[R > 1 ? 2 : 0], *x = rows[R > 1 ? 3 : 0];
    for (std::ptrdiff_t end; first < last; first = end) {
        end = first + kPiece < last ? first + kPiece : last;
        for (std::ptrdiff_t r = R; r < R + next; ++r)
            for (std::ptrdiff_t j = first; j < end; j += kLine) __builtin_prefetch(rows[r] + j);
        for (std::ptrdiff_t j = first; j < end; ++j) {
            double sum = f[j] + delta[0] * double(u[j]);
            if constexpr (R > 1) sum += delta[1] * double(v[j]) + (delta[2] * double(w[j]) + delta[3] * double(x[j]));
            f[j] = sum;
        }
    }
}
// Four rows at a time, so that f is read and written a quarter as often; and so few columns that what is asked for,
// what is added and f stay in the first-level cache.
template <class T>
void accumulate(std::ptrdiff_t count, std::ptrdiff_t n, const T* const* rows, const double* delta, double* f) {
    constexpr std::ptrdiff_t R = kAccumulated, kWidth = 2048 / sizeof(T);
    for (std::ptrdiff_t first = 0, last; first < n; first = last) {
        last = first + kWidth < n ? first + kWidth : n;
        std::ptrdiff_t r = 0;
        for (; r + R <= count; r += R) {
            const std::ptrdiff_t left = count - r - R;
            accumulate_rows<T, R>(first, last, rows + r, delta + r, f, left < R ? left : R);
        }
        for (; r < count; ++r) accumulate_rows<T, 1>(first, last, rows + r, delta + r, f, 0);
    }
}

template <class T> constexpr Scans<T> scan_table() { return {largest<T>, step<T>, partner<T>, accumulate<T>}; }

extern const Scans<float> scans32;
extern const Scans<double> scans64;
const Scans<float> scans32 = scan_table<float>();
const Scans<double> scans64 = scan_table<double>();

} // namespace mercer::MERCER_ISA
