#include "kernels/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace mercer {
namespace {

// What a sum over coordinates may be wrong by, relative to the sum of the sizes of its terms: measured, with room.
constexpr double kReduction = 1e-6;
// The same of squared distances where cancellation is repaired so that they are accurate relatively (dense.cpp).
constexpr double kRepaired = 1e-5;
// Of what one operation does to a value: two roundings. Of the logarithm and the exponential of a large number's power.
constexpr double kRounding = 1.2e-7, kRoot = 5e-6;
const double kE = std::exp(1.0);
// The largest number of single precision; what the sums of a reduction lose below its smallest, for any number of
// coordinates; and what is lost of a value.
constexpr double kMost = 3.4e38, kUnderflow = 1e-37, kLeast = 1e-44;

// |(D + moved)^q - D^q| for D <= largest.
double shifted(double q, double largest, double moved) {
    if (moved == 0) return 0;
    return q <= 1 ? std::pow(moved, q) : q * std::pow(largest + moved, q - 1) * moved;
}
// How much exp(-a D^q) moves with D.
double of_exponential(double a, double q, double moved) {
    if (moved == 0 || a == 0) return 0;
    if (q <= 1) return std::min(1.0, a * std::pow(moved, q));
    const double t = (q - 1) / q; // the steepest place is at a D^q = t
    return q * std::pow(a, 1 / q) * std::pow(t, t) * std::exp(-t) * moved;
}

// A distance that is done with as such: any number, and how wrong it is.
Bound plain(const Bound& d) {
    if (d.exponent == 0) return d;
    Bound result;
    result.size = d.size, result.positive = true;
    const double largest = std::pow(d.size / d.factor, 1 / d.exponent);
    result.error = (d.rate > 0 ? 2 * kReduction : d.relative) * d.size + kRounding * d.size +
                   d.factor * shifted(d.exponent, largest, d.moved);
    return result;
}
// A kernel that is 1 between a sample and itself.
Bound unit(double error) {
    Bound result;
    result.size = 1, result.error = result.normed = error, result.positive = true;
    return result;
}

Bound affine(Bound v, double a, double b) {
    if (v.exponent > 0 && a > 0 && b == 0) {
        v.factor *= a, v.size *= a, v.relative += kRounding, v.rate /= a;
        return v;
    }
    const bool whole = v.exact && (a == 1 || a == -1) && b == std::floor(b);
    v = plain(v);
    Bound result;
    result.size = std::abs(a) * v.size + std::abs(b);
    result.exact = whole && result.size < 16777216;
    result.error = result.exact ? 0.0 : std::abs(a) * v.error + kRounding * result.size;
    result.normed = a >= 0 && b >= 0 ? v.normed + kRounding : Bound::kUnknown;
    result.positive = v.positive && a >= 0 && b >= 0;
    return result;
}

Bound whole_power(const Bound& given, double n) {
    if (n == 0) return unit(0);
    if (given.exponent > 0 && n == 1) return given;
    const Bound v = plain(given);
    Bound result;
    result.size = std::pow(v.size, n);
    result.error = n * std::pow(v.size, n - 1) * v.error + kRounding * n * result.size;
    result.normed = n * (v.normed + kRounding);
    result.positive = v.positive || std::fmod(n, 2) == 0;
    return result;
}

Bound real_power(Bound v, double p) {
    const double rounding = p == 0.5 ? kRounding : kRoot * std::max(1.0, p);
    if (v.exponent > 0 && v.rate == 0) {
        v.exponent *= p, v.factor = std::pow(v.factor, p), v.relative = p * v.relative + rounding;
        v.size = std::pow(v.size, p);
        return v;
    }
    v = plain(v);
    Bound result;
    result.size = std::pow(v.size, p), result.positive = true;
    result.error = (p < 1 ? std::pow(v.error, p) : p * std::pow(v.size, p - 1) * v.error) + rounding * result.size;
    return result;
}

Bound exponential(const Bound& given, double a) {
    if (given.exponent > 0 && a <= 0) {
        const double rate = -a * given.factor;
        // t exp(-t) is at most 1 / e. A rate says that repairs have seen to that, or more, if k falls as fast.
        if (given.rate > 0 && -a < given.rate * (1 - 1e-9)) return {};
        const double own = given.rate > 0 ? kReduction * std::max(1.0, -a / given.rate) : given.relative / kE;
        return unit(own + kReduction + of_exponential(rate, given.exponent, given.moved));
    }
    const Bound v = plain(given);
    Bound result;
    result.positive = true;
    result.size = a < 0 && v.positive ? 1.0 : std::exp(std::abs(a) * v.size);
    result.error = result.size * (std::expm1(std::abs(a) * v.error) + kReduction + kRounding * std::abs(a) * v.size);
    if (a > 0) result.normed = a * v.normed * v.size + kReduction + kRounding * a * v.size;
    return result;
}

// Functions of the square v of a distance that fall from 1, with their derivatives in v at 0, in D at the steepest
// place, and the largest v |f'(v)|.
Bound falling(const Bound& given, double at_zero, double steepest, double relative) {
    if (given.exponent == 2 && given.rate == 0)
        return unit(relative * given.relative + std::sqrt(given.factor) * steepest * given.moved + kReduction);
    const Bound v = plain(given);
    return unit(at_zero * v.error + kReduction);
}

Bound series(const Bound& given, const std::vector<double>& c) {
    const Bound v = plain(given);
    Bound result;
    result.size = 0;
    double slope = 0;
    bool positive = true;
    for (std::size_t j = c.size(); j-- > 0;) {
        slope = slope * v.size + result.size; // Horner's rule for the derivative, then for the value
        result.size = result.size * v.size + std::abs(c[j]);
        positive = positive && c[j] >= 0;
    }
    const auto terms = double(c.size());
    result.error = slope * v.error + kRounding * terms * result.size;
    result.normed = positive ? terms * (v.normed + kRounding) : Bound::kUnknown;
    result.positive = positive && v.positive;
    return result;
}

Bound step(const Bound& v, const Step& step) {
    const double a = step.a, b = step.b;
    switch (step.op) {
    case Op::affine: return affine(v, a, b);
    case Op::integer: return whole_power(v, a);
    case Op::power: return real_power(v, a);
    case Op::exp: return exponential(v, a);
    case Op::tanh: {
        Bound result;
        result.size = 1, result.error = plain(v).error + kReduction;
        return result;
    }
    case Op::decay: return falling(v, a * b, 2 * a * std::sqrt(b / (2 * a + 1)), 1 / kE);
    case Op::matern32: return falling(v, a * a / 2, a / kE, 2 / (kE * kE));
    case Op::matern52: return falling(v, a * a / 6, 0.2801 * a, 0.3022);
    case Op::series: return series(v, step.c);
    case Op::is_zero: {
        Bound result;
        if (v.exact) result = unit(0);
        result.normed = Bound::kUnknown;
        return result;
    }
    }
    return {};
}

// Zero times infinity is unknown, too, and what single precision cannot hold.
Bound known(Bound v) {
    for (double* number : {&v.size, &v.error, &v.normed})
        if (std::isnan(*number)) *number = Bound::kUnknown;
    if (v.exponent > 0) return v; // a distance that is too large is infinite, which kernels that fall are right for
    if (!(v.size < kMost)) v.error = v.normed = Bound::kUnknown;
    if (v.error > 0) v.error = std::max(v.error, kLeast);
    return v;
}

// What borders are of the samples of one level and of another.
struct BorderSizes {
    std::vector<double> u, v;    // the largest of each level
    bool held = true;            // whether single precision holds these numbers and their products
    bool exact_diagonal = false; // of inverse norms

    BorderSizes(const Borders& borders, const std::vector<std::uint8_t>& level, int levels)
        : u(std::size_t(levels)), v(u.size()), exact_diagonal(!borders.diagonal.empty()) {
        take(borders.of_x, level, u);
        take(borders.of_z, level, v);
    }

  private:
    void take(const std::vector<double>& values, const std::vector<std::uint8_t>& level, std::vector<double>& most) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double size = std::abs(values[i]);
            double& largest = most[level.empty() ? 0 : level[i]];
            largest = std::max(largest, size);
            held = held && (size == 0 || (size > 1e-15 && size < 1e15));
        }
    }
};

Bound multiplied(const Bound& a, const Bound& b) {
    Bound result;
    result.size = a.size * b.size;
    result.error = a.size * b.error + b.size * a.error + a.error * b.error + kRounding * result.size;
    result.normed = a.normed + b.normed + a.normed * b.normed + kRounding;
    result.positive = a.positive && b.positive;
    return result;
}
Bound added(const Bound& a, const Bound& b) {
    Bound result;
    result.size = a.size + b.size;
    result.error = a.error + b.error + kRounding * result.size;
    result.normed = std::max(a.normed, b.normed) + kRounding;
    result.positive = a.positive && b.positive;
    return result;
}

Bound with_borders(const Bound& given, Action action, const BorderSizes& borders, double u, double v) {
    const Bound inner = plain(given);
    Bound result;
    if (action == Action::multiply_borders) {
        if (!borders.held) return result;
        result.size = inner.size * u * v, result.error = inner.error * u * v + 3 * kRounding * result.size;
        result.positive = inner.positive;
        // Inverse norms: an error relative to the norms is one of what has norm 1.
        if (borders.exact_diagonal && std::isfinite(inner.normed)) {
            result.size = 1, result.error = result.normed = inner.normed + 3 * kRounding;
        }
    } else if (action == Action::subtract_borders) {
        result.size = inner.size + u + v;
        result.error = inner.error + kRounding * (inner.size + 2 * (u + v));
    } else { // the squares of the samples, as they are or around their centre, which squared distances are wrong by a
             // part of, whether repaired or not
        const double off = shifted(2, std::sqrt(u) + std::sqrt(v), given.moved);
        result.size = std::sqrt(u) * std::sqrt(v);
        result.error = kReduction * std::max(u + v, 0.5 * given.size) + 0.5 * off;
    }
    return result;
}

// Of the entries between samples of level a and of level b; part(k) is the bound of part k there.
template <class Part>
double error_between(const Program& program, const std::vector<BorderSizes>& borders, const Part& part, int a, int b) {
    std::vector<Bound> stack;
    for (const Instruction& instruction : program.instructions) {
        const auto operand = std::size_t(instruction.operand);
        switch (instruction.action) {
        case Action::part: stack.push_back(part(operand)); break;
        case Action::constant: stack.push_back(affine(unit(0), 0, instruction.value)); break;
        case Action::add:
        case Action::multiply: {
            const Bound top = plain(stack.back());
            stack.pop_back();
            const Bound below = plain(stack.back());
            stack.back() = known(instruction.action == Action::add ? added(below, top) : multiplied(below, top));
            break;
        }
        case Action::steps: stack.back() = after(stack.back(), instruction.steps); break;
        default: {
            const BorderSizes& sides = borders[operand];
            stack.back() = known(with_borders(stack.back(), instruction.action, sides, sides.u[std::size_t(a)],
                                              sides.v[std::size_t(b)]));
        }
        }
    }
    const double error = known(plain(stack.back())).error;
    return std::isfinite(error) ? error : Bound::kUnknown;
}

} // namespace

Bound bound_of(const ReducedPart& part, bool steps) {
    const ReductionProperties& kind = properties_of(part.formula.reduction);
    Bound v;
    v.size = part.size;
    v.exact = part.formula.reduction == Reduction::equal && part.size < 16777216;
    v.positive = kind.relative || kind.distance;
    v.error = v.exact ? 0 : kReduction * part.size + kUnderflow;
    if (kind.product || (kind.relative && !kind.distance)) v.normed = kReduction;
    if (kind.distance) {
        v.exponent = kind.power;
        v.moved = part.moved + (kind.power == 2 ? std::sqrt(kUnderflow) : 0.0); // squares are lost sooner
        v.relative = kind.relative ? kReduction : kRepaired;
        if (!kind.relative) v.rate = part.formula.rate;
    }
    return steps ? after(v, part.formula.steps) : v;
}

Bound after(Bound bound, const std::vector<Step>& steps) {
    for (const Step& s : steps) bound = known(step(bound, s));
    return bound;
}

EntryErrors errors_of(const Program& program, const std::vector<std::vector<Bound>>& parts,
                      std::vector<std::uint8_t> level, int levels) {
    const auto both = std::size_t(levels * levels);
    for (const auto& part : parts)
        if (part.size() != both) throw std::invalid_argument("a part needs a bound for any two levels");
    const auto size = program.borders.empty() ? Index(0) : Index(program.borders.front().of_x.size());
    program.check(Index(parts.size()), size, size);
    if (size > 0 && !level.empty() && Index(level.size()) != size)
        throw std::invalid_argument("every sample needs a level");
    for (std::uint8_t one : level)
        if (int(one) >= levels) throw std::invalid_argument("a level of which there are no bounds");
    std::vector<BorderSizes> borders;
    for (const Borders& own : program.borders) borders.emplace_back(own, level, levels);
    std::vector<double> table(both);
    for (int a = 0; a < levels; ++a)
        for (int b = 0; b < levels; ++b) {
            const auto at = std::size_t(a * levels + b);
            table[at] = error_between(program, borders, [&](std::size_t k) { return parts[k][at]; }, a, b);
        }
    return {std::move(level), std::move(table), levels};
}

double error_of(const Program& program, const std::vector<Bound>& parts) {
    std::vector<std::vector<Bound>> all;
    for (const Bound& part : parts) all.push_back({part});
    return errors_of(program, all, {}, 1).largest();
}

} // namespace mercer
