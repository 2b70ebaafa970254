// Sets put together such that those of a group have much in common.
#pragma once

#include "samples/source.hpp"

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace mercer {

// Sorts `order` such that groups of `size`, one after the other, have small unions: each begins with the smallest set
// that is left and takes those that add the least to it. bits[r] is the set of what order[r] names; they move together.
inline void group(std::vector<std::uint64_t>& bits, int size, std::vector<Index>& order) {
    std::uint64_t together = 0;
    for (std::size_t place = 0; place < bits.size(); ++place) {
        if (place % std::size_t(size) == 0) together = 0;
        std::size_t best = place;
        int least = 65;
        for (std::size_t r = place; r < bits.size(); ++r) {
            const int more = std::popcount(bits[r] & ~together);
            if (more < least) best = r, least = more;
        }
        together |= bits[best];
        std::swap(bits[place], bits[best]);
        std::swap(order[place], order[best]);
    }
}

} // namespace mercer
