// Sequences of letters, one after the other in one array. A letter is a number 0 .. alphabet - 1, or -1: one that
// matches nothing, not even itself.
#pragma once

#include "samples/source.hpp"

#include <cstdint>

namespace mercer {

struct Sequences {
    Index count = 0;
    const Index* offsets = nullptr; // count + 1 of them
    const std::int32_t* letters = nullptr;
    std::int32_t alphabet = 0;

    Index length(Index i) const { return offsets[i + 1] - offsets[i]; }
    const std::int32_t* of(Index i) const { return letters + offsets[i]; }
};

} // namespace mercer
