from collections.abc import Callable, Sequence
import enum
from typing import Annotated, Self, overload

import numpy
from numpy.typing import NDArray

def thread_count() -> int: ...
def set_thread_count(count: int) -> None: ...

class Deadline:
    def __init__(self, kind: object | None, seconds: float | None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def end(self) -> None: ...
    def strike(self) -> None: ...

def memory(bytes: int) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]: ...
def keep_at_most(bytes: int) -> None: ...

class Reduction(enum.Enum):
    dot = 0

    squared_distance = 1

    squared_direct = 2

    l1 = 3

    linf = 4

    intersection = 5

    chi2 = 6

    chi2_distance = 7

    jensen_shannon = 8

    equal = 9

class Op(enum.Enum):
    affine = 0

    integer = 1

    power = 2

    exp = 3

    tanh = 4

    matern32 = 6

    matern52 = 7

    series = 8

    decay = 5

    is_zero = 9

class ReductionProperties:
    @property
    def product(self) -> bool: ...
    @property
    def distance(self) -> bool: ...
    @property
    def power(self) -> int: ...
    @property
    def movable(self) -> bool: ...
    @property
    def relative(self) -> bool: ...

def properties_of(reduction: Reduction) -> ReductionProperties: ...

class Formula:
    def __init__(
        self, reduction: Reduction, steps: Sequence[tuple[Op, float, float, Sequence[float]]], rate: float
    ) -> None: ...

class VectorsF32:
    pass

@overload
def dense_rows(
    array: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
) -> VectorsF32: ...
@overload
def dense_rows(
    array: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
) -> VectorsF64: ...
@overload
def sparse_rows(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: int,
) -> VectorsF32: ...
@overload
def sparse_rows(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: int,
) -> VectorsF64: ...
@overload
def squares(
    rows: VectorsF32,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> None: ...
@overload
def squares(
    rows: VectorsF64,
    out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    | None = None,
) -> None: ...

class PairsF32:
    def fill(
        self,
        index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        first_row: int,
        first_column: int,
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")],
    ) -> None: ...
    def fill_symmetric(
        self, out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu")]
    ) -> None: ...
    @overload
    def product(
        self,
        weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> None: ...
    @overload
    def product(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> None: ...
    @overload
    def symmetric_product(
        self,
        weights: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...
    @overload
    def symmetric_product(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...
    def nearest(
        self,
        scale: float,
        offset: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        value: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...

class FormulaPairsF32(PairsF32):
    def with_rows(self, x: VectorsF32) -> FormulaPairsF32 | None: ...

@overload
def bind(
    x: VectorsF32,
    z: VectorsF32,
    formula: Formula,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    grid: tuple[float, float] | None = None,
) -> FormulaPairsF32: ...
@overload
def bind(
    x: VectorsF64,
    z: VectorsF64,
    formula: Formula,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    grid: tuple[float, float] | None = None,
) -> FormulaPairsF64: ...
@overload
def apply(formula: Formula, values: Annotated[NDArray[numpy.float32], dict(order="C", device="cpu")]) -> None: ...
@overload
def apply(formula: Formula, values: Annotated[NDArray[numpy.float64], dict(order="C", device="cpu")]) -> None: ...

class VectorsF64:
    pass

class PairsF64:
    def fill(
        self,
        index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        first_row: int,
        first_column: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")],
    ) -> None: ...
    def fill_symmetric(
        self, out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu")]
    ) -> None: ...
    def product(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> None: ...
    def symmetric_product(
        self,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...
    def nearest(
        self,
        scale: float,
        offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
        value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> None: ...

class FormulaPairsF64(PairsF64):
    def with_rows(self, x: VectorsF64) -> FormulaPairsF64 | None: ...

def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def select_instruction_set(name: str) -> None: ...

class Matrices:
    @property
    def lasting(self) -> bool: ...
    @lasting.setter
    def lasting(self, arg: bool, /) -> None: ...
    @property
    def computed(self) -> int: ...
    @property
    def kept_bytes(self) -> int | None: ...
    def hold(self) -> None: ...
    def held_rows(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), writable=False)] | None: ...
    @property
    def errors(self) -> EntryErrors: ...
    def dense(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C")]: ...
    def dense_single(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C")] | None: ...
    @overload
    def rows(
        self,
        index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        budget: int,
        out: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu")],
    ) -> bool: ...
    @overload
    def rows(
        self,
        index: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        budget: int,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    ) -> bool: ...

@overload
def formula_matrices(
    rows: VectorsF32,
    formula: Formula,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    errors: EntryErrors | None,
    lost: float,
    budget: int,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> Matrices: ...
@overload
def formula_matrices(
    rows: VectorsF64,
    formula: Formula,
    shift: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    errors: EntryErrors | None,
    lost: float,
    budget: int,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> Matrices: ...
@overload
def stored_matrices(
    matrix: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    largest: float = float("inf"),
) -> Matrices: ...
@overload
def stored_matrices(
    matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    largest: float = float("inf"),
) -> Matrices: ...
def function_matrices(
    gram: object,
    diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> Matrices: ...

class Action(enum.Enum):
    part = 0

    constant = 1

    add = 2

    multiply = 3

    steps = 4

    multiply_borders = 5

    subtract_borders = 6

    inner_product = 7

class Program:
    def __init__(
        self,
        instructions: Sequence[tuple[Action, int, float, Sequence[tuple[Op, float, float, Sequence[float]]]]],
        borders: Sequence[
            tuple[
                Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
                Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
                Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
            ]
        ],
    ) -> None: ...

class Bound:
    def __init__(self, size: float, error: float) -> None: ...
    @property
    def size(self) -> float: ...
    @property
    def error(self) -> float: ...

def bounds_of(
    formula: Formula,
    size: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    moved: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> list[Bound]: ...

class EntryErrors:
    @property
    def largest(self) -> float: ...
    def between(self, i: int, j: int) -> float: ...

def errors_of(
    program: Program,
    bounds: Sequence[Sequence[Bound]],
    level: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)],
    levels: int,
) -> EntryErrors: ...
def compose_f32(parts: list[object], program: Program, rows: int, columns: int) -> PairsF32: ...
def function_pairs_f32(pairs: object, rows: int, columns: int) -> PairsF32: ...
def compose_f64(parts: list[object], program: Program, rows: int, columns: int) -> PairsF64: ...
def function_pairs_f64(pairs: object, rows: int, columns: int) -> PairsF64: ...
@overload
def given_pairs_f32(
    matrix: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> PairsF32: ...
@overload
def given_pairs_f32(
    matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> PairsF32: ...
@overload
def given_pairs_f64(
    matrix: Annotated[NDArray[numpy.float32], dict(shape=(None, None), device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> PairsF64: ...
@overload
def given_pairs_f64(
    matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
    columns: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
) -> PairsF64: ...
def compose_matrices(
    parts: list[object], program: Program, size: int, errors: EntryErrors | None, exact: Matrices | None = None
) -> Matrices: ...
def pairs_matrices(
    pairs: object,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
) -> Matrices: ...

class Status(enum.Enum):
    converged = 0

    step_limit = 1

    stopped = 2

    stalled = 3

    unbounded = 4

class Progress:
    @property
    def problem(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def violation(self) -> float: ...
    @property
    def gap(self) -> float: ...
    @property
    def bits(self) -> int: ...
    @property
    def kept(self) -> int: ...
    @property
    def working(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def computed(self) -> int: ...

TINY: int = 200

class ProblemRun:
    def __init__(
        self,
        q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        l1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        total: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        sample: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        group: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
        a: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        f: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
        known: bool = False,
    ) -> None: ...
    def certify(self) -> None: ...
    @property
    def begun(self) -> bool: ...
    @property
    def plain(self) -> bool: ...
    @property
    def status(self) -> Status: ...
    @property
    def steps(self) -> int: ...
    @property
    def negative_pair(self) -> tuple[int, int] | None: ...
    @property
    def primal(self) -> float: ...
    @property
    def dual(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def bias(self) -> list[float]: ...

def solve(
    matrices: Matrices,
    runs: list[ProblemRun],
    tol: float,
    max_steps: int,
    budget: int,
    shrinking: bool,
    progress: Callable[[Progress], bool] | None,
) -> None: ...
def solve_chains(
    matrices: Matrices,
    q: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    lower: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    upper: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    l1: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ridge: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    sample: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    totals: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    prices: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    tol: float,
    close: float,
    max_steps: int,
    budget: int,
    a: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    facts: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    stop: Callable[[], bool] | None,
) -> None: ...
@overload
def solve_linear_dense(
    array: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    constant: float,
    pose: Callable[
        [int],
        tuple[
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            float,
        ],
    ],
    problems: int,
    primal: bool,
    tol: float,
    max_iterations: int,
    seed: int,
    progress: Callable[[int, int, float, float, int], bool] | None,
) -> tuple[NDArray[numpy.float64], list[tuple[float, float, float, int, bool, bool]], BaseException | None]: ...
@overload
def solve_linear_dense(
    array: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    constant: float,
    pose: Callable[
        [int],
        tuple[
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            float,
        ],
    ],
    problems: int,
    primal: bool,
    tol: float,
    max_iterations: int,
    seed: int,
    progress: Callable[[int, int, float, float, int], bool] | None,
) -> tuple[NDArray[numpy.float64], list[tuple[float, float, float, int, bool, bool]], BaseException | None]: ...
@overload
def solve_linear_sparse(
    values: Annotated[NDArray[numpy.float32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: int,
    constant: float,
    pose: Callable[
        [int],
        tuple[
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            float,
        ],
    ],
    problems: int,
    primal: bool,
    tol: float,
    max_iterations: int,
    seed: int,
    progress: Callable[[int, int, float, float, int], bool] | None,
) -> tuple[NDArray[numpy.float64], list[tuple[float, float, float, int, bool, bool]], BaseException | None]: ...
@overload
def solve_linear_sparse(
    values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indices: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    columns: int,
    constant: float,
    pose: Callable[
        [int],
        tuple[
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
            float,
        ],
    ],
    problems: int,
    primal: bool,
    tol: float,
    max_iterations: int,
    seed: int,
    progress: Callable[[int, int, float, float, int], bool] | None,
) -> tuple[NDArray[numpy.float64], list[tuple[float, float, float, int, bool, bool]], BaseException | None]: ...
@overload
def perceptron_pass(
    rows: VectorsF32,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    label: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    radius: float,
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    mistakes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def perceptron_pass(
    rows: VectorsF64,
    order: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    label: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    radius: float,
    weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    mistakes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def kernel_perceptron_pass(
    kernel: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    own: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    label: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    radius: float,
    budget: int,
    clock: int,
    coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    late: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    late_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    mistakes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
@overload
def kernel_perceptron_pass(
    kernel: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    own: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    diagonal: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    label: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    weight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    radius: float,
    budget: int,
    clock: int,
    coefficients: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    late: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
    bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    late_bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")],
    mistakes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu")],
) -> None: ...
def nearest(
    block: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    scale: float,
    offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
    value: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def squared_distances(
    x: VectorsF32,
    z: VectorsF32,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...
@overload
def squared_distances(
    x: VectorsF64,
    z: VectorsF64,
    scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)] | None,
    index: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order="C", device="cpu")],
    out: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu")],
) -> None: ...

class AdditiveFunction:
    @overload
    @staticmethod
    def intersection(
        z: VectorsF32,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> AdditiveFunction: ...
    @overload
    @staticmethod
    def intersection(
        z: VectorsF64,
        weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> AdditiveFunction: ...
    @staticmethod
    def through(
        knots: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[
            NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu", writable=False)
        ],
    ) -> AdditiveFunction: ...
    @overload
    def evaluate(
        self,
        x: VectorsF32,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> None: ...
    @overload
    def evaluate(
        self,
        x: VectorsF64,
        out: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order="C", device="cpu")],
    ) -> None: ...
    @property
    def bytes(self) -> int: ...

def most_votes(
    sums: Annotated[
        NDArray[numpy.float64], dict(shape=(None, None, None, None), order="C", device="cpu", writable=False)
    ],
    biases: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order="C", device="cpu", writable=False)],
    out: Annotated[NDArray[numpy.int64], dict(shape=(None, None), device="cpu")],
) -> None: ...

class Strings:
    def __init__(
        self,
        letters: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        alphabet: int,
    ) -> None: ...

class Bags:
    def __init__(
        self,
        keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        values: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        indptr: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        alphabet: int,
        length: int,
    ) -> None: ...

def count_words(
    x: Strings, shortest: int, longest: int, both_strands: bool, mismatches: int
) -> tuple[
    Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
    Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
]: ...
def list_words(
    x: Strings, shortest: int, longest: int, both_strands: bool
) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C")]: ...

class Vocabulary:
    def __init__(
        self, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> None: ...
    def __len__(self) -> int: ...
    def find(
        self, keys: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order="C", device="cpu", writable=False)]
    ) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...

class WeightedDegree:
    def __init__(self, weight: Sequence[float], shift: int) -> None: ...

class Subsequence:
    def __init__(self, length: int, decay: float) -> None: ...

class LocalAlignment:
    def __init__(self, score: Sequence[float], open: float, extend: float, beta: float) -> None: ...

def fits_differences(alphabet: int, length: int) -> bool: ...
def difference_pairs_f32(x: Bags, z: Bags, weights: Sequence[float]) -> ObjectPairsF32: ...
@overload
def string_pairs_f32(x: Strings, z: Strings, rule: WeightedDegree) -> ObjectPairsF32: ...
@overload
def string_pairs_f32(x: Strings, z: Strings, rule: Subsequence) -> ObjectPairsF32: ...
@overload
def string_pairs_f32(x: Strings, z: Strings, rule: LocalAlignment) -> ObjectPairsF32: ...
def difference_pairs_f64(x: Bags, z: Bags, weights: Sequence[float]) -> ObjectPairsF64: ...
@overload
def string_pairs_f64(x: Strings, z: Strings, rule: WeightedDegree) -> ObjectPairsF64: ...
@overload
def string_pairs_f64(x: Strings, z: Strings, rule: Subsequence) -> ObjectPairsF64: ...
@overload
def string_pairs_f64(x: Strings, z: Strings, rule: LocalAlignment) -> ObjectPairsF64: ...

class ObjectPairsF32(PairsF32):
    def diagonal(
        self, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
    ) -> None: ...

class ObjectPairsF64(PairsF64):
    def diagonal(
        self, out: Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C", device="cpu")]
    ) -> None: ...

class Graphs:
    def __init__(
        self,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arcs: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        neighbours: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arc_labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        node_labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        arc_label_count: int,
        label_count: int,
    ) -> None: ...

def edges(
    matrix: Annotated[NDArray[numpy.float64], dict(shape=(None, None), device="cpu", writable=False)],
) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))] | None: ...

class GraphRecipe:
    pass

def vertex_histogram() -> GraphRecipe: ...
def edge_histogram() -> GraphRecipe: ...
def shortest_path() -> GraphRecipe: ...
def graphlet(size: int) -> GraphRecipe: ...
def weisfeiler_lehman(rounds: int, base: GraphRecipe) -> GraphRecipe: ...

class GraphFeatures:
    def __init__(self, recipe: GraphRecipe) -> None: ...
    def learn(
        self, graphs: Graphs
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
        int,
    ]: ...
    def words(
        self,
    ) -> list[
        tuple[
            Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
            Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
        ]
    ]: ...
    def look_up(
        self, graphs: Graphs
    ) -> tuple[
        Annotated[NDArray[numpy.float64], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
        int,
    ]: ...

def random_walk(x: Graphs, z: Graphs, decay: float) -> ObjectPairsF64: ...

class Trees:
    def __init__(
        self,
        starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        child_starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C", device="cpu", writable=False)],
        children: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
        labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C", device="cpu", writable=False)],
    ) -> None: ...

class Subtrees:
    def __init__(self) -> None: ...
    def learn(self, trees: Trees) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def look_up(self, trees: Trees) -> Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")]: ...
    def words(
        self,
    ) -> tuple[
        Annotated[NDArray[numpy.int32], dict(shape=(None,), order="C")],
        Annotated[NDArray[numpy.int64], dict(shape=(None,), order="C")],
    ]: ...
    def __len__(self) -> int: ...

def subset_tree(x: Trees, z: Trees, decay: float) -> ObjectPairsF64: ...
def partial_tree(x: Trees, z: Trees, decay: float, mu: float) -> ObjectPairsF64: ...
