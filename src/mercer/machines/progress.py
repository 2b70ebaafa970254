"""What support vector machines tell people of their solver: how far it has come, and what came out."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.solvers import Certificate, Progress
from mercer.solvers.linear import LinearProgress


def line(progress: Progress) -> str:
    """How far a solver has come, for people.

    >>> print(line(Progress(0, 4500, 0.12, 3.5, 1024, 6000, 3838, 0, 32, 0.5)))
    problem 0: violation 0.12, gap 3.5, 4500 steps, 9e+03 steps/s; 1024 of 6000 coefficients active; 3838 rows of K \
computed in float32, none kept
    """
    active = "all" if progress.active == progress.size else f"{progress.active} of"
    return (
        f"problem {progress.problem}: violation {progress.violation:.3g}, gap {progress.gap:.3g}, "
        f"{progress.iterations} steps, {rate(progress):.3g} steps/s; {active} {progress.size} coefficients active; "
        f"{progress.rows} rows of K computed in float{progress.bits}, "
        f"{f'up to {progress.kept}' if progress.kept else 'none'} kept"
    )


def linear_line(progress: LinearProgress) -> str:
    """How far a solver of linear machines has come, for people.

    >>> print(linear_line(LinearProgress(0, 45, 0.12, 3.5, 1024, 0.5)))
    problem 0: violation 0.12, gap 3.5, 45 iterations, 90 iterations/s, 1024 active, 0.5 s
    """
    return (
        f"problem {progress.problem}: violation {progress.violation:.3g}, gap {progress.gap:.3g}, "
        f"{progress.iterations} iterations, {rate(progress):.3g} iterations/s, {progress.active} active, "
        f"{progress.seconds:.1f} s"
    )


def rate(progress: Progress | LinearProgress) -> float:
    """Iterations per second."""
    return progress.iterations / progress.seconds if progress.seconds else 0.0


def summary(found: Sequence[Certificate], tol: float) -> str:
    """What came out of all problems, for people.

    >>> print(summary([Certificate(1.5, 1.25, 0.25, 1e-4, 7, True)], 1e-3))
    1 problem solved: violation 0.0001 (tol 0.001), gap 0.25, 7 steps
    """
    solved = sum(certificate.converged for certificate in found)
    count = f"{solved} of {len(found)} problems" if len(found) > 1 else f"{'1' if solved else 'no'} problem"
    return (
        f"{count} solved: violation {max(c.violation for c in found):.3g} (tol {tol:g}), "
        f"gap {sum(c.gap for c in found):.3g}, {sum(c.iterations for c in found)} steps"
    )
