// What one instruction set provides to gaps.cpp: counting by single bits, for many rows at once. A set of 512 rows is a
// mask; the counters of the rows are planes, of which plane p holds bit p of all of them; and three masks of a weight
// are added by full adders into one of that weight and one of the next (Harley and Seal).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer {

inline constexpr std::ptrdiff_t kTallyRows = 512;

struct alignas(64) Mask {
    std::uint64_t part[kTallyRows / 64];
};

// Lists of keys are padded to a multiple of this with the key of an empty mask.
inline constexpr std::ptrdiff_t kTallyUnit = 4;

struct Tally {
    // Counts one for every row of masks[keys[i]], i < count. No counter may outgrow its planes.
    void (*add)(const Mask* masks, const std::uint32_t* keys, std::ptrdiff_t count, Mask* planes);
};

const Tally& tally();

} // namespace mercer
