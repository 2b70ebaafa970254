// The inner loops of the linear solvers, compiled once per instruction set like those of the kernels (variant.cpp there
// says what may be defined in such a file).
#include "solvers/linear_loops.hpp"
#include "kernels/simd.hpp"

namespace mercer::MERCER_ISA {

using Wide = Simd<double>;

// As many entries of a row as fit a vector of float64.
static Wide::V widen(const double* p) { return Wide::load(p); }
static Wide::V widen(const float* p) {
    typedef float Half __attribute__((vector_size(MERCER_VECTOR_BYTES / 2)));
    Half v;
    std::memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, Wide::V);
}

static double across(Wide::V v) {
    double lanes[Wide::lanes], total = 0;
    Wide::store(lanes, v);
    for (double lane : lanes) total += lane;
    return total;
}

template <class T> double linear_dot(std::ptrdiff_t n, const T* x, const double* w) {
    constexpr std::ptrdiff_t L = Wide::lanes;
    Wide::V sum[4] = {};
    std::ptrdiff_t k = 0;
    for (; k + 4 * L <= n; k += 4 * L)
#pragma GCC unroll 4
        for (int u = 0; u < 4; ++u) sum[u] = sum[u] + widen(x + k + u * L) * Wide::load(w + k + u * L);
    for (; k + L <= n; k += L) sum[0] = sum[0] + widen(x + k) * Wide::load(w + k);
    double total = across((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; k < n; ++k) total += double(x[k]) * w[k];
    return total;
}

template <class T> void linear_add(std::ptrdiff_t n, double s, const T* x, double* w) {
    constexpr std::ptrdiff_t L = Wide::lanes;
    const Wide::V factor = Wide::splat(s);
    std::ptrdiff_t k = 0;
    for (; k + L <= n; k += L) Wide::store(w + k, Wide::load(w + k) + factor * widen(x + k));
    for (; k < n; ++k) w[k] += s * double(x[k]);
}

// Four rows at a time: w is read, or read and written, once for all of them.
template <class T> void linear_dots(std::ptrdiff_t count, std::ptrdiff_t n, std::ptrdiff_t stride, const T* x,
                                    const double* w, double* f) {
    constexpr std::ptrdiff_t L = Wide::lanes;
    std::ptrdiff_t i = 0;
    for (; i + 4 <= count; i += 4, x += 4 * stride) {
        Wide::V sum[4] = {};
        double rest[4] = {};
        std::ptrdiff_t k = 0;
        for (; k + L <= n; k += L) {
            const Wide::V v = Wide::load(w + k);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) sum[r] = sum[r] + widen(x + r * stride + k) * v;
        }
        for (; k < n; ++k)
            for (int r = 0; r < 4; ++r) rest[r] += double(x[r * stride + k]) * w[k];
        for (int r = 0; r < 4; ++r) f[i + r] = across(sum[r]) + rest[r];
    }
    for (; i < count; ++i, x += stride) f[i] = linear_dot(n, x, w);
}

template <class T> void linear_adds(std::ptrdiff_t count, std::ptrdiff_t n, std::ptrdiff_t stride, const double* a,
                                    const T* x, double* w) {
    constexpr std::ptrdiff_t L = Wide::lanes;
    const T* row[4];
    double s[4];
    int held = 0; // rows whose coefficient is not zero; which they are could not be predicted
    for (std::ptrdiff_t i = 0; i < count; ++i) {
        row[held] = x + i * stride;
        s[held] = a[i];
        held += a[i] != 0;
        if (held < 4) continue;
        held = 0;
        std::ptrdiff_t k = 0;
        for (; k + L <= n; k += L) {
            Wide::V v = Wide::load(w + k);
#pragma GCC unroll 4
            for (int r = 0; r < 4; ++r) v = v + Wide::splat(s[r]) * widen(row[r] + k);
            Wide::store(w + k, v);
        }
        for (; k < n; ++k)
            for (int r = 0; r < 4; ++r) w[k] += s[r] * double(row[r][k]);
    }
    for (int r = 0; r < held; ++r) linear_add(n, s[r], row[r], w);
}

template <class T> double linear_sparse_dot(std::ptrdiff_t n, const T* x, const std::int32_t* at, const double* w) {
    double sum[4] = {};
    std::ptrdiff_t p = 0;
    for (; p + 4 <= n; p += 4)
        for (int u = 0; u < 4; ++u) sum[u] += double(x[p + u]) * w[at[p + u]];
    for (; p < n; ++p) sum[0] += double(x[p]) * w[at[p]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// The columns of a row are distinct, so four may be read before the first is written.
template <class T> void linear_sparse_add(std::ptrdiff_t n, double s, const T* x, const std::int32_t* at, double* w) {
    std::ptrdiff_t p = 0;
    for (; p + 4 <= n; p += 4) {
        double v[4];
        for (int u = 0; u < 4; ++u) v[u] = w[at[p + u]] + s * double(x[p + u]);
        for (int u = 0; u < 4; ++u) w[at[p + u]] = v[u];
    }
    for (; p < n; ++p) w[at[p]] += s * double(x[p]);
}

// A tile of R rows and C vectors of H at a time, in registers.
template <int R, int C> static void gram_tile(std::ptrdiff_t depth, std::ptrdiff_t stride, double sign, const double* a,
                                              const double* b, double* h) {
    constexpr int L = Wide::lanes;
    Wide::V sum[R][C] = {};
    for (std::ptrdiff_t k = 0; k < depth; ++k, a += stride, b += stride) {
        Wide::V v[C];
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) v[c] = Wide::load(b + c * L);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
            for (int c = 0; c < C; ++c) sum[r][c] = sum[r][c] + Wide::splat(a[r]) * v[c];
    }
    const Wide::V factor = Wide::splat(sign);
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) {
            double* p = h + r * stride + c * L;
            Wide::store(p, Wide::load(p) + factor * sum[r][c]);
        }
}

static void linear_gram(std::ptrdiff_t depth, std::ptrdiff_t n, std::ptrdiff_t stride, double sign, const double* B,
                        double* H) {
    constexpr std::ptrdiff_t R = 4, C = 2, W = C * Wide::lanes; // W divides kPad
    for (std::ptrdiff_t j = 0; j < n; j += W) {
        std::ptrdiff_t i = j / R * R;
        for (; i + R <= n; i += R) gram_tile<R, C>(depth, stride, sign, B + i, B + j, H + i * stride + j);
        for (; i < n; ++i) gram_tile<1, C>(depth, stride, sign, B + i, B + j, H + i * stride + j);
    }
}

extern const linear::Loops<float> linear32;
extern const linear::Loops<double> linear64;
template <class T>
constexpr linear::Loops<T> linear_table = {linear_dot<T>,        linear_add<T>,        linear_dots<T>, linear_adds<T>,
                                           linear_sparse_dot<T>, linear_sparse_add<T>, linear_gram};
const linear::Loops<float> linear32 = linear_table<float>;
const linear::Loops<double> linear64 = linear_table<double>;

} // namespace mercer::MERCER_ISA
