"""How good the weights are that scikit-learn's liblinear has found, for the problems that are left to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.problem import Vector
from mercer.solvers.certificate import Certificate
from mercer.solvers.linear import judge_l1


def judged_l1(peer: Any, X: Any, label: Any, cost: Vector, factor: Vector, constant: float) -> list[Certificate]:
    """How good liblinear's weights are for penalty="l1", class by class."""
    only, certificates = len(peer.coef_) == 1, []
    for k, (weights, intercept) in enumerate(
        zip(peer.coef_, np.broadcast_to(peer.intercept_, len(peer.coef_)), strict=True)
    ):
        positive = label == (1 if only else k)
        costs = cost * np.where(positive, factor[1 if only else k], factor[0] if only else 1.0)
        q = np.where(positive, 1.0, -1.0)
        certificate = judge_l1(X, weights, float(intercept), constant, q, costs)
        certificates.append(replace(certificate, iterations=peer.n_iter_))
    return certificates


def joint_objective(peer: Any, X: Any, label: Any, cost: Vector, constant: float) -> float:
    """Crammer and Singer's: 1/2 sum_k |w_k|^2 + sum_i C_i max_k (f_k + [k is wrong] - f of the right one)."""
    coef, intercept = peer.coef_, np.atleast_1d(peer.intercept_)
    if len(peer.classes_) == 2:  # kept as a difference; of all pairs of weights with it, half each is the shortest
        coef, intercept = np.vstack([-coef / 2, coef / 2]), np.append(-intercept / 2, intercept / 2)
    f = np.asarray(X @ coef.T) + intercept
    right = np.take_along_axis(f, label[:, None], axis=1).ravel()
    f += 1.0
    np.put_along_axis(f, label[:, None], right[:, None], axis=1)
    last = np.sum((intercept / constant) ** 2) if constant else 0.0
    return float(0.5 * (np.sum(coef**2) + last) + cost @ (f.max(axis=1) - right))
