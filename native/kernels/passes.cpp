#include "kernels/passes.hpp"

#include "kernels/isa.hpp"

#include <algorithm>
#include <optional>

namespace mercer {

Index effect(Action action) {
    switch (action) {
    case Action::part:
    case Action::constant: return 1;
    case Action::add:
    case Action::multiply: return -1;
    default: return 0;
    }
}

bool bordered(Action action) {
    return action == Action::multiply_borders || action == Action::subtract_borders || action == Action::inner_product;
}

namespace {

// factor (scale x + weight (u + v) + more)^power
struct Polynomial {
    double scale = 1, weight = 0, more = 0, factor = 1;
    int power = 1;

    bool bordered_by(Action action) {
        if (action == Action::inner_product)
            scale = -0.5, weight = 0.5;
        else if (action == Action::subtract_borders)
            weight = -1;
        else
            return false;
        return true;
    }
    // Whether it is of this form still after a step.
    bool then(const Step& step) {
        if (step.op == Op::affine && power == 1) {
            scale *= step.a, weight *= step.a, more = step.a * more + step.b;
            return true;
        }
        if (step.op == Op::affine && step.b == 0) {
            factor *= step.a;
            return true;
        }
        if (step.op != Op::integer || power != 1 || !(step.a >= 1 && step.a <= kMostOfTerm)) return false;
        power = int(step.a);
        return true;
    }
};

std::vector<double> weighted(const std::vector<double>* values, Index count, double weight, double more) {
    std::vector<double> result(std::size_t(count), more);
    if (values)
        for (std::size_t i = 0; i < result.size(); ++i) result[i] += weight * (*values)[i];
    return result;
}

} // namespace

Passes::Passes(const Program& program, Index rows, Index columns)
    : borders(program.borders), rows_(rows), columns_(columns) {
    for (const Instruction& instruction : program.instructions) {
        const Index height = effect(instruction.action);
        if (height > 0) starts_.push_back(passes.size());
        if (height < 0)
            join({instruction});
        else
            passes.push_back({instruction});
    }
}

// Either of the two that are joined may be a term; it comes last then.
void Passes::join(Pass pass) {
    const std::size_t second = starts_.back(), end = passes.size();
    starts_.pop_back();
    const std::size_t first = starts_.back();
    if (take_term(second, end, pass)) {
        passes.resize(second + 1);
    } else if (take_term(first, second, pass)) {
        const Instruction part = passes[first];
        passes.erase(passes.begin() + std::ptrdiff_t(first), passes.begin() + std::ptrdiff_t(second));
        passes.push_back({part});
    } else if (pass.action == Action::add) {
        take_factor(pass);
    }
    passes.push_back(std::move(pass));
}

// Whether these passes are a part and what makes a term of it; then the pass that joins it is told.
bool Passes::take_term(std::size_t first, std::size_t last, Pass& pass) {
    if (passes[first].action != Action::part || last == first + 1) return false;
    Polynomial term;
    std::size_t at = first + 1;
    const Borders* sides = nullptr;
    if (term.bordered_by(passes[at].action)) sides = &borders[std::size_t(passes[at++].operand)];
    for (; at < last; ++at) {
        if (passes[at].action != Action::steps) return false;
        for (const Step& step : passes[at].steps)
            if (!term.then(step)) return false;
    }
    const bool scaled_only = !sides && term.more == 0 && term.power == 1;
    if (scaled_only || (pass.action == Action::multiply && term.factor != 1)) return false;
    Borders own{weighted(sides ? &sides->of_x : nullptr, rows_, term.weight, 0.5 * term.more),
                weighted(sides ? &sides->of_z : nullptr, columns_, term.weight, 0.5 * term.more),
                {}};
    borders.push_back(std::move(own));
    pass.term = true, pass.operand = Index(borders.size()) - 1;
    pass.scale = term.scale, pass.power = term.power, pass.factor = term.factor;
    return true;
}

// A scale that is followed by an addition is a part of it.
void Passes::take_factor(Pass& pass) {
    if (passes.back().action != Action::steps) return;
    std::vector<Step>& steps = passes.back().steps;
    if (steps.empty() || steps.back().op != Op::affine || steps.back().b != 0) return;
    pass.factor = steps.back().a;
    steps.pop_back();
    if (steps.empty()) passes.pop_back();
}

} // namespace mercer
