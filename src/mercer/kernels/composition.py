"""Pairs made of others: sums, products, steps, norms and centres of kernels, as programs of the native core.

The core runs a program on tiles of its parts' blocks (``native/kernels/composition.hpp``). Parts that reduce the same
columns of the same samples alike share one reduction; for solvers, in float32, inner products come from squared
distances, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer import _native
from mercer.kernels.levels import Levels
from mercer.kernels.native import SINGLE_RANGE, BoundPairs, FeaturePairs, NativePairs, within
from mercer.kernels.pairs import Pairs, SquareMatrix, Step, chunks, step
from mercer.remembered import remembered
from mercer.samples.base import Array

Action, Op, Reduction = _native.Action, _native.Op, _native.Reduction
Numbers = NDArray[np.float64]
#: What is done; the number of a part or of borders; a constant; steps.
Instruction = tuple[_native.Action, int, float, Sequence[Step]]
#: A number of each row, one of each column and, where it is exact, the diagonal.
Borders = tuple[Numbers, Numbers, Numbers | None]

#: Borders beyond this, or below its inverse, are not for float32.
BORDER_RANGE = 1e15


@dataclass(frozen=True)
class Program:
    """Instructions in postfix order, and the borders that they name."""

    instructions: tuple[Instruction, ...]
    borders: tuple[Borders, ...] = ()

    def then(self, action: _native.Action, *, steps: Sequence[Step] = (), borders: Borders | None = None) -> Program:
        """The program with one more instruction; steps join those before them."""
        last = self.instructions[-1]
        if action == Action.steps and last[0] == Action.steps:
            joined = (Action.steps, 0, 0.0, [*last[3], *steps])
            return Program((*self.instructions[:-1], joined), self.borders)
        more = (action, len(self.borders), 0.0, list(steps))
        return Program((*self.instructions, more), self.borders if borders is None else (*self.borders, borders))

    def joined(self, other: Program, parts: int, action: _native.Action) -> Program:
        """Both programs, the other's parts counted from ``parts`` on, and what is done to their results."""
        first = {Action.part: parts}
        moved = [(a, i + first.get(a, len(self.borders)), value, steps) for a, i, value, steps in other.instructions]
        both = (*self.instructions, *moved, (action, 0, 0.0, []))
        return Program(both, (*self.borders, *other.borders))

    def ordered(self, order: NDArray[np.int64] | None) -> Program:
        """The program for the samples in this order."""
        if order is None:
            return self
        borders = tuple((u[order], v[order], None if d is None else d[order]) for u, v, d in self.borders)
        return Program(self.instructions, borders)

    @property
    def native(self) -> _native.Program:
        borders = [tuple(None if side is None else np.ascontiguousarray(side) for side in b) for b in self.borders]
        return _native.Program(list(self.instructions), borders)  # type: ignore[arg-type]

    def fits_single(self) -> bool:
        """Whether its numbers are well within the range of float32."""
        steps = [s for _, _, _, own in self.instructions for s in own]
        sides = [np.abs(side) for u, v, _ in self.borders for side in (u, v)]
        small = all(((side == 0) | ((side > 1 / BORDER_RANGE) & (side < BORDER_RANGE))).all() for side in sides)
        return bool(small) and within(SINGLE_RANGE, steps)


@dataclass(frozen=True)
class PartOf:
    """The matrix of one part of a composition of a Gram matrix, for parts that Python fills."""

    whole: SquareMatrix
    number: int

    @property
    def exact(self) -> PartOf:
        return PartOf(self.whole.exact, self.number)

    def __len__(self) -> int:
        return len(self.whole)

    def between(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Pairs:
        pairs = self.whole.between(rows, columns)
        assert isinstance(pairs, ComposedPairs)
        return pairs.parts[self.number]

    def diag(self) -> Array:
        every = np.arange(len(self))
        some = [every[part] for part in chunks(len(self), 8 * len(self))]
        return np.concatenate([self.between(rows, rows).dense().diagonal() for rows in some])


@dataclass(frozen=True)
class Plan:
    """What is computed: parts, those of the composition's that they stand for (None: a reduction), and the program."""

    parts: tuple[Pairs, ...]
    numbers: tuple[int | None, ...]
    program: Program


class ComposedPairs(BoundPairs):
    """What a program makes of the blocks of its parts, which are pairs of the same samples."""

    shares = True

    def __init__(
        self, parts: Sequence[Pairs], program: Program, shape: tuple[int, int], dtype: Any, same: bool
    ) -> None:
        if np.dtype(dtype) == np.float32 and not program.fits_single():
            dtype = np.float64
        super().__init__(shape, dtype, same)
        self.parts, self.program, self.dear = tuple(parts), program, any(part.dear for part in parts)
        self.exact_diagonal = any(diagonal is not None for _, _, diagonal in program.borders)

    @property
    def constant(self) -> float | None:
        """The number that all entries are, if they are one."""
        ((action, _, value, _), *more) = self.program.instructions
        return value if action == Action.constant and not more else None

    def made(self, program: Program) -> ComposedPairs:
        return ComposedPairs(self.parts, program, self.shape, self.dtype, self.same)

    def then(self, *steps: Step) -> ComposedPairs:
        return self.made(self.program.then(Action.steps, steps=steps))

    def multiplied(self, of_x: Numbers, of_z: Numbers, diagonal: Numbers | None) -> ComposedPairs:
        return self.made(self.program.then(Action.multiply_borders, borders=(of_x, of_z, diagonal)))

    def less(self, of_x: Numbers, of_z: Numbers) -> ComposedPairs:
        return self.made(self.program.then(Action.subtract_borders, borders=(of_x, of_z, None)))

    @remembered
    def plan(self) -> Plan:
        return shared(self, products_too=False)

    @property
    def bound(self) -> Any:
        if self._bound is None:
            plan = self.plan
            compose = _native.compose_f32 if self.dtype == np.float32 else _native.compose_f64
            self._bound = compose([part.native(self.dtype) for part in plan.parts], plan.program.native, *self.shape)
        return self._bound

    def share(self, other: Pairs) -> None:
        if self._bound is None and isinstance(other, ComposedPairs) and other.dtype == self.dtype:
            for mine, theirs in zip(self.plan.parts, other.plan.parts, strict=True):
                mine.share(theirs)

    def fits_single(self) -> bool:
        return self.program.fits_single() and bool(self.parts) and all(part.fits_single() for part in self.parts)

    def matrices(
        self, whole: SquareMatrix, order: NDArray[np.int64] | None, packed: int, *, single: bool
    ) -> _native.Matrices:
        """A program over the matrices of the parts; in float32, too, where the errors of all of these have bounds.

        That one may take inner products from squared distances. The one in float64 keeps a reduction for each, as its
        entries count as exact, those of a small sample with a large one, too.
        """
        plan = shared(self, products_too=True)
        alike = all(instruction[0] != Action.inner_product for instruction in plan.program.instructions)
        errors = self._errors(plan, order) if single and plan.program.fits_single() and plan.parts else None
        if alike:
            return self._bound_to(plan, whole, order, packed, errors)
        exact = self._bound_to(self.plan, whole, order, packed // 2, None)
        return exact if errors is None else self._bound_to(plan, whole, order, packed // 2, errors, exact)

    def _errors(self, plan: Plan, order: NDArray[np.int64] | None) -> _native.EntryErrors | None:
        """Bounds on what the entries are off by in float32, if there are any."""
        levels = Levels.by(*(part.sizes() for part in plan.parts), samples=len(self))
        bounds = []
        for part in plan.parts:
            of_part = part.accuracy(levels)
            if of_part is None:
                return None
            bounds.append(of_part)
        errors = _native.errors_of(plan.program.ordered(order).native, bounds, levels.ordered(order), levels.count)
        return errors if np.isfinite(errors.largest) else None

    def _bound_to(
        self,
        plan: Plan,
        whole: SquareMatrix,
        order: NDArray[np.int64] | None,
        packed: int,
        errors: _native.EntryErrors | None,
        exact: _native.Matrices | None = None,
    ) -> _native.Matrices:
        """What is planned, of the matrix in this order; in float32, too, where there are bounds on its errors."""
        each = packed // max(1, len(plan.parts))
        matrices: list[object] = [
            part.matrices(whole if number is None else PartOf(whole, number), order, each, single=errors is not None)
            for part, number in zip(plan.parts, plan.numbers, strict=True)
        ]
        size = len(self) if order is None else len(order)
        return _native.compose_matrices(matrices, plan.program.ordered(order).native, size, errors, exact)

    def __len__(self) -> int:
        return self.shape[0]


def composed(pairs: Pairs) -> ComposedPairs:
    """Any pairs as a composition."""
    if isinstance(pairs, ComposedPairs):
        return pairs
    return ComposedPairs([pairs], Program(((Action.part, 0, 0.0, []),)), pairs.shape, pairs.dtype, pairs.same)


def constant(value: float, shape: tuple[int, int], dtype: Any, same: bool) -> ComposedPairs:
    """The same number everywhere."""
    return ComposedPairs([], Program(((Action.constant, 0, float(value), []),)), shape, dtype, same)


def added(terms: Sequence[Pairs]) -> Pairs:
    """The sum of several. Explicit features of the same samples are laid side by side."""
    return combined(beside(terms), Action.add, lambda c: step(Op.affine, 1.0, c), np.add)


def multiplied(factors: Sequence[Pairs]) -> Pairs:
    """The product of several."""
    return combined(factors, Action.multiply, lambda c: step(Op.affine, c), np.multiply)


def combined(terms: Sequence[Pairs], action: _native.Action, by: Any, join: np.ufunc) -> Pairs:
    """Terms joined one after the other; constants together are a step at the end."""
    numbers = [term.constant for term in terms if isinstance(term, ComposedPairs) and term.constant is not None]
    others = [term for term in terms if not (isinstance(term, ComposedPairs) and term.constant is not None)]
    dtype, same = np.result_type(*(term.dtype for term in terms)), all(term.same for term in terms)
    if not others:
        return constant(float(join.reduce(numbers)), terms[0].shape, dtype, same)
    result = others[0]
    if len(others) > 1 or result.dtype != dtype:
        one = composed(result)
        parts, program = list(one.parts), one.program
        for term in map(composed, others[1:]):
            program = program.joined(term.program, len(parts), action)
            parts += term.parts
        result = ComposedPairs(parts, program, terms[0].shape, dtype, same)
    return result.then(by(float(join.reduce(numbers)))) if numbers else result


def beside(terms: Sequence[Pairs]) -> list[Pairs]:
    """The terms, with those that are explicit features made one where the first of them stands."""
    features = [term for term in terms if isinstance(term, FeaturePairs)]
    if len(features) < 2:
        return list(terms)
    merged = features[0].beside(features[1:])
    rest = [term for term in terms if term not in features[1:]]
    return [merged if term is features[0] else term for term in rest]


def shared(pairs: ComposedPairs, *, products_too: bool, alone: bool = False) -> Plan:
    """The composition with one reduction for all its parts that reduce the same columns alike.

    A part by itself keeps its steps, which are applied while its sums are in registers, unless reductions are wanted
    ``alone``.

    With ``products_too`` inner products come from the squared distances of the same columns: of a sample of norm |x|
    and one of norm |z| they are then exact up to rounding of |x|^2 + |z|^2. That is what a bound for all pairs of
    samples asks for, but less than is due to a pair of a large and a small one.
    """
    groups: dict[Any, list[NativePairs]] = {}
    for part in pairs.parts:
        if isinstance(part, NativePairs):
            groups.setdefault(key(part, products_too), []).append(part)
    parts: list[Pairs] = []
    numbers: list[int | None] = []
    borders = list(pairs.program.borders)
    made: list[list[Instruction]] = []  # what pushes each part of the composition
    reductions: dict[Any, int] = {}
    squares: dict[Any, int] = {}
    for number, part in enumerate(pairs.parts):
        alike = groups[key(part, products_too)] if isinstance(part, NativePairs) else []
        if len(alike) < (1 if alone else 2):
            made.append([(Action.part, len(parts), 0.0, [])])
            parts.append(part)
            numbers.append(number)
            continue
        assert isinstance(part, NativePairs)
        name = key(part, products_too)
        if name not in reductions:
            reductions[name] = len(parts)
            parts.append(reduction_of(alike))
            numbers.append(None)
        push: list[Instruction] = [(Action.part, reductions[name], 0.0, [])]
        chosen = parts[reductions[name]]
        assert isinstance(chosen, NativePairs)
        if part.reduction == Reduction.dot != chosen.reduction:
            if name not in squares:
                squares[name] = len(borders)
                own = part.x.squares(None, part.scale)
                borders.append((own, own if part.same else part.z.squares(None, part.scale), None))
            push.append((Action.inner_product, squares[name], 0.0, []))
        if part.steps:
            push.append((Action.steps, 0, 0.0, list(part.steps)))
        made.append(push)
    instructions: list[Instruction] = []
    for instruction in pairs.program.instructions:
        instructions += made[instruction[1]] if instruction[0] == Action.part else [instruction]
    return Plan(tuple(parts), tuple(numbers), Program(tuple(instructions), tuple(borders)))


def key(part: NativePairs, products_too: bool) -> Any:
    """What parts have in common that can share a reduction; they hold their samples, whose identities so are theirs."""
    euclidean = _native.properties_of(part.reduction).power == 2 and _native.properties_of(part.reduction).movable
    kind: Any = "euclidean" if euclidean or (products_too and part.reduction == Reduction.dot) else part.reduction
    scale = None if part.scale is None else part.scale.tobytes()
    return id(part.x), id(part.z), scale, kind


def reduction_of(parts: Sequence[NativePairs]) -> NativePairs:
    """The reduction that these parts share: squared distances if any of them asks for those.

    A rate at which they may be wrong holds for one kernel alone; where several fall at different rates, or one at none,
    they are accurate relatively.
    """
    distances = [part for part in parts if part.reduction != Reduction.dot]
    rates = {part.rate for part in distances}
    first = next((part for part in parts if part.reduction == Reduction.squared_distance), (distances or parts)[0])
    return NativePairs(first.x, first.z, first.reduction, (), rates.pop() if len(rates) == 1 else 0.0, first.scale)
