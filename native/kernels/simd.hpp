// Vectors of a fixed number of bytes and the elementary functions on them, in the compiler's own vector
// extension: the same source becomes SSE2, AVX2, AVX-512 or NEON by the flags of the file that includes it.
#pragma once

#include <cstdint>
#include <cstring>

namespace mercer::MERCER_ISA {

template <class T> struct Bits;
template <> struct Bits<float> {
    using Int = std::int32_t;
    static constexpr int mantissa = 23, bias = 127;
};
template <> struct Bits<double> {
    using Int = std::int64_t;
    static constexpr int mantissa = 52, bias = 1023;
};

template <class T> struct Simd {
    static constexpr int lanes = MERCER_VECTOR_BYTES / sizeof(T);
    using Int = typename Bits<T>::Int;
    typedef T V __attribute__((vector_size(MERCER_VECTOR_BYTES)));
    typedef Int I __attribute__((vector_size(MERCER_VECTOR_BYTES)));

    static V load(const T* p) {
        V v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    static void store(T* p, V v) { std::memcpy(p, &v, sizeof v); }
    // x - 0 is x for every x, so this compiles to one broadcast.
    static V splat(T x) { return x - V{}; }
    static I splat_int(Int x) { return x - I{}; }
    static I bits(V v) { return reinterpret_cast<I>(v); }
    static V from_bits(I v) { return reinterpret_cast<V>(v); }
    static V select(I mask, V a, V b) { return from_bits((bits(a) & mask) | (bits(b) & ~mask)); }
    static V abs(V v) { return from_bits(bits(v) & ~splat_int(Int(1) << (8 * sizeof(T) - 1))); }
    static V min(V a, V b) { return a < b ? a : b; }
    static V max(V a, V b) { return a > b ? a : b; }
    static V sqrt(V v) {
        V r;
        for (int i = 0; i < lanes; ++i) r[i] = sizeof(T) == 4 ? T(__builtin_sqrtf(float(v[i]))) : T(__builtin_sqrt(v[i]));
        return r;
    }

    // 1.5 * 2^mantissa: adding it rounds to the nearest integer and leaves that integer in the low bits.
    static V magic() { return splat(T(1.5) * T(Int(1) << Bits<T>::mantissa)); }
    // 2^n for integral n within the exponent's range, from n + magic().
    static V exponent(V n_plus_magic) {
        I one = splat_int(Int(Bits<T>::bias) << Bits<T>::mantissa);
        return from_bits((bits(n_plus_magic) << Bits<T>::mantissa) + one);
    }

    // e^x = 2^n (1 + q(r)), r = x - n log 2, |r| <= log(2)/2, by Cody and Waite's reduction. q is Taylor's in double
    // precision; in single precision a Chebyshev fit of degree 6, within 6e-9 of e^r.
    struct Reduced {
        V n, q;
    };
    static Reduced reduce(V x) {
        constexpr bool f32 = sizeof(T) == 4;
        const T hi = f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
        const T lo = f32 ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
        V n = (x * splat(T(1.44269504088896340736)) + magic()) - magic();
        V r = x - n * splat(hi);
        r = r - n * splat(lo);
        constexpr double taylor[] = {1.0,         1.0 / 2,       1.0 / 6,        1.0 / 24,     1.0 / 120,
                                     1.0 / 720,   1.0 / 5040,    1.0 / 40320,    1.0 / 362880, 1.0 / 3628800,
                                     1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
        constexpr double fit[] = {1.00000001, 0.500000005, 0.166665049, 0.0416663522, 0.00836918688, 0.00139411632};
        constexpr int degree = f32 ? 6 : 13;
        V p = splat(T(f32 ? fit[5] : taylor[12]));
        for (int k = degree - 2; k >= 0; --k) p = p * r + splat(T(f32 ? fit[f32 ? k : 0] : taylor[k]));
        return {n, p * r};
    }
    static V exp(V x) {
        if constexpr (sizeof(T) == 4) {
            // Below the smallest normal number the result is zero. 2^n is 2 * 2^(n-1), so that n may be 128.
            I vanishes = x < splat(T(-87.33654));
            Reduced e = reduce(max(min(x, splat(T(89))), splat(T(-87.4))));
            V p = splat(T(2)) + (e.q + e.q);
            return from_bits(bits(p * exponent(e.n + (magic() - splat(T(1))))) & ~vanishes);
        }
        x = max(min(x, splat(T(710))), splat(T(-746)));
        Reduced e = reduce(x);
        // Two factors of about 2^(n/2) reach subnormal results and infinity without leaving the range.
        V half = e.n * splat(T(0.5)) + magic();
        V first = half - magic();
        V rest = (e.n - first) + magic();
        return ((splat(T(1)) + e.q) * exponent(half)) * exponent(rest);
    }
    // e^x - 1 without cancellation, for |x| small enough that 2^n stays normal.
    static V expm1(V x) {
        Reduced e = reduce(x);
        V s = exponent(e.n + magic());
        return s * e.q + (s - splat(T(1)));
    }
    static V tanh(V x) {
        const T top = sizeof(T) == 4 ? T(10) : T(20);
        V u = expm1(splat(T(2)) * min(abs(x), splat(top)));
        V t = u / (u + splat(T(2)));
        return from_bits(bits(t) | (bits(x) & splat_int(Int(1) << (8 * sizeof(T) - 1))));
    }
    // log x for x > 0; log 0 = -inf. log m = 2 atanh((m-1)/(m+1)), m in [sqrt(1/2), sqrt(2)).
    static V log(V x) {
        constexpr bool f32 = sizeof(T) == 4;
        constexpr int shift = Bits<T>::mantissa;
        const T smallest = f32 ? T(1.17549435e-38) : T(2.2250738585072014e-308);
        I tiny = x < splat(smallest);
        V scaled = select(tiny, x * splat(T(Int(1) << (shift + 1))), x);
        I root = splat_int(f32 ? Int(0x3f3504f3) : Int(0x3fe6a09e667f3bcd)); // sqrt(1/2)
        I e = (bits(scaled) - root) >> shift;
        V m = from_bits(bits(scaled) - (e << shift));
        V n = from_bits(e + bits(magic())) - magic();
        n = select(tiny, n - splat(T(shift + 1)), n);
        V f = (m - splat(T(1))) / (m + splat(T(1)));
        V g = f * f;
        constexpr int terms = f32 ? 5 : 11;
        V p = splat(T(1.0 / (2 * terms + 1)));
        for (int k = terms - 1; k >= 1; --k) p = p * g + splat(T(1.0 / (2 * k + 1)));
        const T hi = f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
        const T lo = f32 ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
        V twice = f + f;
        V value = n * splat(hi) + (twice + (twice * g * p + n * splat(lo)));
        return select(x == splat(T(0)), splat(-T(__builtin_inf())), value);
    }
};

} // namespace mercer::MERCER_ISA
