"""The problem of kernel logistic regression: classes, costs, and its primal and dual objective.

With one-hot targets T, costs c_i and values F = K A + 1 b' (one column per class), the primal problem is to minimise

    1/2 tr(A'KA) + sum_i c_i (log sum_k exp F_ik - F_i . T_i)        over A and the unpenalised bias b.

The conjugate of log-sum-exp is the negative entropy, so the Fenchel dual is to maximise

    -1/2 tr(A'KA) + sum_i c_i H(Q_i),   Q_i = T_i - A_i / c_i,   H(q) = -sum_k q_k log q_k

over A with Q_i on the simplex and, because of the bias, sum_i A_i = 0. Any values F *induce* probabilities P (their
soft maximum) and coefficients A' = c (T - P), which satisfy both once b is the best for K A. Between A and A' the
inequality of Fenchel and Young is an equality, so that what is left of the gap is a norm,

    primal(A) - dual(A') = 1/2 tr((A - A')' K (A - A')) >= 0,

which is zero exactly at the optimum, where A = A'. Two classes need one column: f is the log-odds of the second, the
first has the value 0. (Keerthi, Duan, Shevade, Poo, "A fast dual algorithm for kernel logistic regression", Machine
Learning 2005; Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, chapter 3.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp, softmax

from mercer.problem import Vector

#: The bias moves by no more than this, or the largest value, at once: far from its optimum the curvature says little.
LONGEST = 10.0


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The classes of samples, one-hot in ``target`` (one column of 0 and 1 for two classes), and their costs.

    >>> likelihood = Likelihood.of(np.array([0, 1, 1]), 2, np.ones(3))
    >>> round(likelihood.loss(np.zeros((3, 1))), 4)  # 3 log 2
    2.0794
    """

    target: Vector
    cost: Vector

    @classmethod
    def of(cls, codes: NDArray[np.int64], classes: int, cost: Vector) -> Likelihood:
        """From the number of each sample's class."""
        named = np.arange(1, 2) if classes == 2 else np.arange(classes)
        return cls((codes[:, None] == named).astype(np.float64), cost)

    def __len__(self) -> int:
        return len(self.target)

    @property
    def outputs(self) -> int:
        return int(self.target.shape[1])

    def feasible(self, A: Vector) -> Vector:
        """The coefficients with their sums made zero, as a bias demands."""
        return np.asarray(A - A.mean(axis=0))

    def loss(self, F: Vector) -> float:
        """The weighted negative log-likelihood of values F."""
        return float(self.cost @ (log_partition(F) - (self.target * F).sum(axis=1)))

    def entropy(self, F: Vector) -> float:
        """The weighted entropy of the probabilities that F induces: log Z - P . F."""
        return float(self.cost @ (log_partition(F) - (probabilities(F) * F).sum(axis=1)))

    def induced(self, F: Vector) -> Vector:
        """The coefficients A' = c (T - P) that F induces."""
        return self.cost[:, None] * (self.target - probabilities(F))

    def curvature(self, F: Vector) -> Vector:
        """The second derivative of every loss by its own values, c p (1 - p)."""
        P = probabilities(F)
        return np.asarray(self.cost[:, None] * P * (1 - P))

    def best_bias(self, product: Vector, start: Vector) -> Vector:
        """The bias of largest likelihood for K A = ``product``: the induced coefficients sum to zero.

        Newton's method; a step that overshoots, as the slope at its end tells, is halved.
        """
        bias, slope = start, self._bias_slope(product, start)
        size = float(np.abs(product).max(initial=0.0))
        for _ in range(200):
            if np.abs(slope).max() <= 1e-14 * float(self.cost.sum()):
                break
            step = -np.linalg.solve(self.bias_curvature(probabilities(product + bias)), slope)
            if self.outputs > 1:
                step -= step.mean()  # to move all classes at once changes nothing, so that only rounding would
            step *= min(1.0, max(LONGEST, size) / float(np.abs(step).max()))
            ahead = self._bias_slope(product, bias + step)
            while ahead @ step > -0.25 * slope @ step:
                step = step / 2
                ahead = self._bias_slope(product, bias + step)
            if np.abs(step).max() <= 1e-16 * (size + float(np.abs(bias).max())):  # all that float64 can tell
                break
            bias, slope = bias + step, ahead
        return bias

    def _bias_slope(self, product: Vector, bias: Vector) -> Vector:
        return np.asarray(self.cost @ (probabilities(product + bias) - self.target))

    def bias_curvature(self, P: Vector) -> Vector:
        """The second derivative by the bias, made regular where all P are 0 or 1 and along the vector of ones.

        (Moving the values of all classes at once changes nothing.)
        """
        if self.outputs == 1:
            H = np.atleast_2d(self.cost @ (P * (1 - P)))
        else:
            H = np.diag(self.cost @ P) - P.T @ (self.cost[:, None] * P)
            H += np.trace(H) / self.outputs**2
        return np.asarray(H + 1e-12 * float(self.cost.sum()) * np.eye(self.outputs))


def log_partition(F: Vector) -> Vector:
    """log sum_k exp F_ik of every sample; of one column, the first class has the value 0."""
    return np.asarray(np.logaddexp(0.0, F[:, 0]) if F.shape[1] == 1 else logsumexp(F, axis=1))


def probabilities(F: Vector) -> Vector:
    """The probabilities of the classes, or of the second of two."""
    return np.asarray(expit(F) if F.shape[1] == 1 else softmax(F, axis=1))


class Curvature:
    """The second derivative of the likelihood at probabilities P, the bias eliminated, as a product R R'.

    For a sample it is W = c (diag(p) - p p') = S S' with S = sqrt(c) (diag(sqrt p) - p sqrt(p)'). That the bias is
    always the best takes W 1 (1'W 1)^-1 1'W away, which is to project on what S' 1 is orthogonal to: R = S (I - QQ').
    """

    def __init__(self, likelihood: Likelihood, P: Vector) -> None:
        self.P, self.cost = P, likelihood.cost[:, None]
        self.one = likelihood.outputs == 1
        self.root = np.sqrt(self.cost * (P * (1 - P) if self.one else P))
        self.of_bias = np.linalg.inv(likelihood.bias_curvature(P))

    def spread(self, U: Vector) -> Vector:
        """R U."""
        V = self._root(U)
        return np.asarray(V - self.weighted(self.of_bias @ V.sum(axis=0)))

    def gather(self, V: Vector) -> Vector:
        """R' V."""
        return self._root_transposed(V - self.of_bias @ self.weighted(V).sum(axis=0))

    def weighted(self, V: Vector) -> Vector:
        """W V; a vector V stands for one such row per sample."""
        return self._root(self._root_transposed(np.broadcast_to(V, self.P.shape)))

    def _root(self, U: Vector) -> Vector:
        V = self.root * U
        return V if self.one else V - self.P * V.sum(axis=1, keepdims=True)

    def _root_transposed(self, V: Vector) -> Vector:
        return np.asarray(self.root * (V if self.one else V - (self.P * V).sum(axis=1, keepdims=True)))

    def between(self, L: Vector) -> Vector:
        """G'G with G = R'(L x ...), of size (columns of L times outputs) squared: L' W L, the bias eliminated."""
        rank, outputs = L.shape[1], self.P.shape[1]
        H = np.empty((outputs, rank, outputs, rank))
        sums = np.empty((outputs, rank, outputs))
        for i in range(outputs):
            for j in range(i, outputs):
                W = self.root[:, 0] ** 2 if self.one else self.cost[:, 0] * self.P[:, i] * ((i == j) - self.P[:, j])
                weighted = W[:, None] * L
                H[i, :, j, :] = L.T @ weighted
                H[j, :, i, :] = H[i, :, j, :].T
                sums[i, :, j] = sums[j, :, i] = weighted.sum(axis=0)
        flat = sums.reshape(outputs * rank, outputs)
        return np.asarray(H.reshape(outputs * rank, -1) - flat @ self.of_bias @ flat.T)
