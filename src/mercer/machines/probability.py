"""Probabilities from the values of two-class machines: Platt's sigmoid, and the coupling of pairs of classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mercer.problem import Vector
from mercer.samples.base import Array


def sigmoid(values: Vector, positive: Array, steps: int = 100) -> tuple[float, float]:
    """A and B of P(positive | f) = 1 / (1 + exp(A f + B)), of largest likelihood for targets drawn in from 0 and 1.

    Newton's method with backtracking (Lin, Lin and Weng, "A note on Platt's probabilistic outputs for support vector
    machines", Machine Learning 2007).

    >>> A, B = sigmoid(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]))
    >>> A < 0, abs(B) < 1e-9
    (True, True)
    """
    counts = float((~positive).sum()), float(positive.sum())
    target = np.where(positive, (counts[1] + 1) / (counts[1] + 2), 1 / (counts[0] + 2))
    X = np.stack([values, np.ones(len(values))], axis=1)
    AB = np.array([0.0, np.log((counts[0] + 1) / (counts[1] + 1))])

    def cost(AB: Vector) -> float:
        z = X @ AB
        return float((target * z + np.logaddexp(0, -z)).sum())

    for _ in range(steps):
        p = expit(-(X @ AB))
        slope = X.T @ (target - p)
        if np.abs(slope).max() < 1e-5:
            break
        curvature = (X * (p * (1 - p))[:, None]).T @ X + 1e-12 * np.eye(2)
        step, length = -np.linalg.solve(curvature, slope), 1.0
        while length > 1e-10 and not cost(AB + length * step) < cost(AB) + 1e-4 * length * float(slope @ step):
            length /= 2
        if length <= 1e-10:
            break
        AB = AB + length * step
    return float(AB[0]), float(AB[1])


def coupled(r: Vector) -> Vector:
    """Probabilities p of k classes from r[n, i, j], those of i against j: the p that minimise
    sum over i != j of (r_ji p_i - r_ij p_j)^2 with sum p = 1, from the linear system of its Lagrangian.

    Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling", JMLR 2004.

    >>> coupled(np.array([[[0.0, 0.8], [0.2, 0.0]]]))
    array([[0.8, 0.2]])
    """
    n, k = r.shape[:2]
    other = np.swapaxes(r, 1, 2)
    system = np.ones((n, k + 1, k + 1))
    system[:, :k, :k] = -r * other
    diagonal = np.arange(k)
    system[:, diagonal, diagonal] = (other**2).sum(axis=2) - np.einsum("nii->ni", r) ** 2
    system[:, k, k] = 0.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 1e-300)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
