// Counting by single bits, compiled once per instruction set (kernels/variant.cpp says what may be defined in such a
// file).
#include "strings/tally.hpp"
#include "kernels/simd.hpp"

namespace mercer::MERCER_ISA {

typedef std::uint64_t Row __attribute__((vector_size(MERCER_VECTOR_BYTES)));
static constexpr int kParts = int(sizeof(Mask) / sizeof(Row)); // of a mask

static inline Row load_part(const Mask& mask, int part) {
    Row v;
    std::memcpy(&v, reinterpret_cast<const char*>(&mask) + std::size_t(part) * sizeof v, sizeof v);
    return v;
}
static inline void store_part(Mask& mask, int part, Row v) {
    std::memcpy(reinterpret_cast<char*>(&mask) + std::size_t(part) * sizeof v, &v, sizeof v);
}

static inline bool any(Row v) {
#if MERCER_VECTOR_BYTES == 64 && defined(__AVX512F__)
    return _mm512_test_epi64_mask(__m512i(v), __m512i(v)) != 0;
#elif MERCER_VECTOR_BYTES == 32 && defined(__AVX2__)
    return !_mm256_testz_si256(__m256i(v), __m256i(v));
#else
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < sizeof(Row) / 8; ++i) all |= v[i];
    return all != 0;
#endif
}

// Adds 2^kLevel masks to the counters' low planes, and returns the carry, of weight 2^kLevel.
template <int kLevel>
[[gnu::always_inline]] static inline Row take(const Mask* masks, const std::uint32_t* keys, int part, Row* low) {
    if constexpr (kLevel == 0) {
        return load_part(masks[keys[0]], part);
    } else {
        const Row a = take<kLevel - 1>(masks, keys, part, low);
        const Row b = take<kLevel - 1>(masks, keys + (1 << (kLevel - 1)), part, low);
        const Row sum = low[kLevel - 1], either = a ^ b;
        low[kLevel - 1] = sum ^ either;
        return (a & b) | (sum & either);
    }
}

// Adds a mask to the counters whose lowest plane is planes[0].
static inline void ripple(Row carry, int part, Mask* planes) {
    for (; any(carry); ++planes) {
        const Row plane = load_part(*planes, part);
        store_part(*planes, part, plane ^ carry);
        carry = plane & carry;
    }
}

// Adds all full runs of 2^kLevel masks, and returns how many masks these were.
template <int kLevel>
static std::ptrdiff_t add_runs(const Mask* masks, const std::uint32_t* keys, std::ptrdiff_t count, Mask* planes) {
    constexpr std::ptrdiff_t kRun = 1 << kLevel;
    if (count < kRun) return 0;
    Row low[kParts][kLevel];
    for (int part = 0; part < kParts; ++part)
        for (int p = 0; p < kLevel; ++p) low[part][p] = load_part(planes[p], part);
    std::ptrdiff_t i = 0;
    for (; i + kRun <= count; i += kRun)
#pragma GCC unroll 4
        for (int part = 0; part < kParts; ++part)
            ripple(take<kLevel>(masks, keys + i, part, low[part]), part, planes + kLevel);
    for (int part = 0; part < kParts; ++part)
        for (int p = 0; p < kLevel; ++p) store_part(planes[p], part, low[part][p]);
    return i;
}

static void tally_add(const Mask* masks, const std::uint32_t* keys, std::ptrdiff_t count, Mask* planes) {
    const std::ptrdiff_t done = add_runs<4>(masks, keys, count, planes);
    add_runs<2>(masks, keys + done, count - done, planes);
}

extern const Tally tally;
const Tally tally = {tally_add};

} // namespace mercer::MERCER_ISA
