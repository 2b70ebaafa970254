// A program as passes over a run of entries in the cache, as few as it takes: what is linear in a part, its borders and
// constants, or a small power of that, is joined to what is below it on the stack while it is in registers.
#pragma once

#include "kernels/composition.hpp"

#include <vector>

namespace mercer {

// An instruction. Additions may have a factor of what is added. With `term` they and multiplications take from the top
// of the stack an entry x of a part, and for it (scale x + (u + v))^power with these borders.
struct Pass : Instruction {
    double factor = 1;
    bool term = false;
    double scale = 1;
    int power = 1;
};

struct Passes {
    std::vector<Pass> passes;
    std::vector<Borders> borders;

    Passes(const Program& program, Index rows, Index columns);

  private:
    void join(Pass pass);
    bool take_term(std::size_t first, std::size_t last, Pass& pass);
    void take_factor(Pass& pass);

    Index rows_, columns_;
    std::vector<std::size_t> starts_; // in `passes`, of what is on the stack
};

// How many more values are on the stack after an action than before it; whether it has borders.
Index effect(Action action);
bool bordered(Action action);

} // namespace mercer
