// Bounds on what single precision does to the entries of a kernel matrix, followed through a formula's steps and a
// program's instructions. Infinity says that nothing is known, so that double precision is taken.
#pragma once

#include "kernels/composition.hpp"
#include "kernels/entry_errors.hpp"
#include "kernels/formula.hpp"

#include <limits>
#include <vector>

namespace mercer {

// The formula of a part, and what is known of the samples that it reduces.
struct ReducedPart {
    Formula formula;
    double size = std::numeric_limits<double>::infinity(); // the largest absolute value of the reduction
    double moved = 0; // how far from the true distance that of the samples is once they are rounded
};

// How large the entries are, and how wrong.
struct Bound {
    static constexpr double kUnknown = std::numeric_limits<double>::infinity();
    double size = kUnknown;
    double error = kUnknown;
    // The error relative to the norms: it is at most normed (k(x, x) k(z, z))^1/2. Only of what is a kernel.
    double normed = kUnknown;
    bool positive = false; // no entry is negative
    bool exact = false;    // a whole number that single precision holds
    // Of factor D^exponent, D a distance: wrong by `relative` of itself, besides that D was `moved`. No distance if the
    // exponent is 0. With a rate only exp(-rate D^2) is known to be good, and relative is about nothing else.
    double exponent = 0, factor = 1, relative = 0, moved = 0, rate = 0;
};

// Of the reduction, and of the reduction with its steps.
Bound bound_of(const ReducedPart& part, bool steps = true);
Bound after(Bound bound, const std::vector<Step>& steps);
// Bounds on the errors of the entries that a program makes of parts, parts[k][a * levels + b] being that of part k
// between samples of these levels. Without levels all samples are of the one there is.
EntryErrors errors_of(const Program& program, const std::vector<std::vector<Bound>>& parts,
                      std::vector<std::uint8_t> level, int levels);
double error_of(const Program& program, const std::vector<Bound>& parts);

} // namespace mercer
