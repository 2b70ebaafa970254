// Vectors of a fixed number of bytes and the elementary functions on them, in the compiler's own vector
// extension: the same source becomes SSE2, AVX2, AVX-512 or NEON by the flags of the file that includes it.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
    // Whether a lane of a mask is set.
    static bool any(I mask) {
#if defined(__AVX512DQ__)
        if constexpr (sizeof(I) == 64 && sizeof(T) == 4) return _mm512_movepi32_mask(__m512i(mask)) != 0;
        if constexpr (sizeof(I) == 64 && sizeof(T) == 8) return _mm512_movepi64_mask(__m512i(mask)) != 0;
#endif
#if defined(__AVX2__)
        if constexpr (sizeof(I) == 32) return _mm256_movemask_epi8(__m256i(mask)) != 0;
#endif
#if defined(__x86_64__)
        if constexpr (sizeof(I) == 16) return _mm_movemask_epi8(__m128i(mask)) != 0;
#endif
        Int all = 0;
        for (int l = 0; l < lanes; ++l) all |= mask[l];
        return all != 0;
    }
    static V abs(V v) { return from_bits(bits(v) & ~splat_int(Int(1) << (8 * sizeof(T) - 1))); }
    // a < b ? a : b and a > b ? a : b, so b where either is NaN. Compilers do not always see the one instruction.
    static V min(V a, V b) {
#if defined(__x86_64__)
        if constexpr (sizeof(V) == 16 && sizeof(T) == 4) return V(_mm_min_ps(__m128(a), __m128(b)));
        if constexpr (sizeof(V) == 16 && sizeof(T) == 8) return V(_mm_min_pd(__m128d(a), __m128d(b)));
#if defined(__AVX2__)
        if constexpr (sizeof(V) == 32 && sizeof(T) == 4) return V(_mm256_min_ps(__m256(a), __m256(b)));
        if constexpr (sizeof(V) == 32 && sizeof(T) == 8) return V(_mm256_min_pd(__m256d(a), __m256d(b)));
#endif
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64 && sizeof(T) == 4) return V(_mm512_min_ps(__m512(a), __m512(b)));
        if constexpr (sizeof(V) == 64 && sizeof(T) == 8) return V(_mm512_min_pd(__m512d(a), __m512d(b)));
#endif
#endif
        return a < b ? a : b;
    }
    static V max(V a, V b) {
#if defined(__x86_64__)
        if constexpr (sizeof(V) == 16 && sizeof(T) == 4) return V(_mm_max_ps(__m128(a), __m128(b)));
        if constexpr (sizeof(V) == 16 && sizeof(T) == 8) return V(_mm_max_pd(__m128d(a), __m128d(b)));
#if defined(__AVX2__)
        if constexpr (sizeof(V) == 32 && sizeof(T) == 4) return V(_mm256_max_ps(__m256(a), __m256(b)));
        if constexpr (sizeof(V) == 32 && sizeof(T) == 8) return V(_mm256_max_pd(__m256d(a), __m256d(b)));
#endif
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64 && sizeof(T) == 4) return V(_mm512_max_ps(__m512(a), __m512(b)));
        if constexpr (sizeof(V) == 64 && sizeof(T) == 8) return V(_mm512_max_pd(__m512d(a), __m512d(b)));
#endif
#endif
        return a > b ? a : b;
    }
    // a b - c in one instruction where there is one, even if a b is wanted elsewhere too.
    static V fused_minus(V a, V b, V c) {
#if defined(__x86_64__) && defined(__FMA__)
        if constexpr (sizeof(V) == 32 && sizeof(T) == 4) return V(_mm256_fmsub_ps(__m256(a), __m256(b), __m256(c)));
        if constexpr (sizeof(V) == 32 && sizeof(T) == 8) return V(_mm256_fmsub_pd(__m256d(a), __m256d(b), __m256d(c)));
#if defined(__AVX512F__)
        if constexpr (sizeof(V) == 64 && sizeof(T) == 4) return V(_mm512_fmsub_ps(__m512(a), __m512(b), __m512(c)));
        if constexpr (sizeof(V) == 64 && sizeof(T) == 8) return V(_mm512_fmsub_pd(__m512d(a), __m512d(b), __m512d(c)));
#endif
#endif
        return a * b - c;
    }
    static V sqrt(V v) {
        V r;
        for (int i = 0; i < lanes; ++i)
            r[i] = sizeof(T) == 4 ? T(__builtin_sqrtf(float(v[i]))) : T(__builtin_sqrt(v[i]));
        return r;
    }

    // 1.5 * 2^mantissa: adding it rounds to the nearest integer and leaves that integer in the low bits.
    static V magic() { return splat(T(1.5) * T(Int(1) << Bits<T>::mantissa)); }
    // 2^n for integral n within the exponent's range, from n + magic().
    static V exponent(V n_plus_magic) {
        I one = splat_int(Int(Bits<T>::bias) << Bits<T>::mantissa);
        return from_bits((bits(n_plus_magic) << Bits<T>::mantissa) + one);
    }

    // e^x = 2^n (1 + q(r)), r = x - n log 2, |r| <= log(2)/2, by Cody and Waite's reduction; q(r)/r is a Chebyshev fit
    // that leaves e^r within 6e-9 in single and 1e-17 in double precision.
    struct ReducedArgument {
        V n, q;
    };
    static ReducedArgument reduce(V x) {
        constexpr bool f32 = sizeof(T) == 4;
        const T hi = f32 ? T(0.693359375) : T(6.93147180369123816490e-01);
        const T lo = f32 ? T(-2.12194440e-4) : T(1.90821492927058770002e-10);
        V n = (x * splat(T(1.44269504088896340736)) + magic()) - magic();
        V r = x - n * splat(hi);
        r = r - n * splat(lo);
        constexpr double single[] = {1.00000001, 0.500000005, 0.166665049, 0.0416663522, 0.00836918688, 0.00139411632};
        constexpr double fine[] = {1.0,
                                   0.5000000000000006,
                                   0.1666666666666667,
                                   0.041666666666573066,
                                   0.008333333333326136,
                                   0.001388888893251478,
                                   0.00019841269874820627,
                                   2.480150431378554e-05,
                                   2.7557255400206422e-06,
                                   2.7626371065696354e-07,
                                   2.5105217004720745e-08};
        constexpr int terms = f32 ? 6 : 11;
        V p = splat(T(f32 ? single[5] : fine[10]));
        for (int k = terms - 2; k >= 0; --k) p = p * r + splat(T(f32 ? single[f32 ? k : 0] : fine[k]));
        return {n, p * r};
    }
    static V exp(V x) {
        if constexpr (sizeof(T) == 4) {
            // 2^n is 2 * 2^(n-1), so that n may be 128; below 2^-125 the result is zero.
            I vanishes = x < splat(T(-86.98));
            ReducedArgument e = reduce(max(splat(T(-87)), min(splat(T(89)), x)));
            V p = splat(T(2)) + (e.q + e.q);
            return from_bits(bits(p * exponent(e.n + (magic() - splat(T(1))))) & ~vanishes);
        }
        x = max(splat(T(-746)), min(splat(T(710)), x)); // in this order NaN stays NaN
        ReducedArgument e = reduce(x);
        // Two factors of about 2^(n/2) reach subnormal results and infinity without leaving the range.
        V half = e.n * splat(T(0.5)) + magic();
        V first = half - magic();
        V rest = (e.n - first) + magic();
        return ((splat(T(1)) + e.q) * exponent(half)) * exponent(rest);
    }
    // e^x - 1 without cancellation, for |x| small enough that 2^n stays normal.
    static V expm1(V x) {
        ReducedArgument e = reduce(x);
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
