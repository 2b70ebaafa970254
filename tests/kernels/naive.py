"""A slow, obvious float64 reference for every kernel: its formula, applied to all pairs by broadcasting.

Every function takes two arrays of samples and returns the matrix of all their pairs.
"""

import numpy as np
from scipy.special import gamma as gamma_function
from scipy.special import kv


def all_pairs(X, Z):
    """The samples of X against those of Z, as two arrays that broadcast to (rows of X, rows of Z, columns)."""
    return np.asarray(X, dtype=np.float64)[:, None, :], np.asarray(Z, dtype=np.float64)[None, :, :]


# -- inner products ---------------------------------------------------------------------------------------------


def linear(X, Z):
    x, z = all_pairs(X, Z)
    return (x * z).sum(axis=2)


def polynomial(X, Z, degree, c=1.0, gamma=1.0):
    return (gamma * linear(X, Z) + c) ** degree


def power_series(X, Z, coefficients):
    return sum(a * linear(X, Z) ** j for j, a in enumerate(coefficients))


def cosine(X, Z):
    norms = np.outer(np.sqrt(np.diag(linear(X, X))), np.sqrt(np.diag(linear(Z, Z))))
    return np.divide(linear(X, Z), norms, out=np.zeros_like(norms), where=norms > 0)


def sigmoid(X, Z, gamma, c):
    return np.tanh(gamma * linear(X, Z) + c)


def feature_map(X, Z, phi):
    return linear(np.array([phi(x) for x in X]), np.array([phi(z) for z in Z]))


def lift(x):
    return [*x, *x**2]


def squares(x):
    return [*x**2]


def quadratic(x):
    return [1.0, *x, *x**2]


def polar(x):
    return [np.sqrt(x[0] ** 2 + x[1] ** 2), np.arctan2(x[1], x[0])]


def l1_normalized(x):
    return x / x.sum() if x.sum() > 0 else x


# -- distances --------------------------------------------------------------------------------------------------


def l1(X, Z):
    x, z = all_pairs(X, Z)
    return np.abs(x - z).sum(axis=2)


def l2(X, Z):
    x, z = all_pairs(X, Z)
    return np.sqrt(((x - z) ** 2).sum(axis=2))


def linf(X, Z):
    x, z = all_pairs(X, Z)
    return np.abs(x - z).max(axis=2)


def chi2_distance(X, Z):
    x, z = all_pairs(X, Z)
    return np.sqrt(ratio((x - z) ** 2, x + z).sum(axis=2))


def hellinger_distance(X, Z):
    x, z = all_pairs(X, Z)
    return np.sqrt(((np.sqrt(x) - np.sqrt(z)) ** 2).sum(axis=2))


def mahalanobis(X, Z, S):
    x, z = all_pairs(X, Z)
    return np.sqrt(np.einsum("nmi,ij,nmj->nm", x - z, np.linalg.pinv(S), x - z))


def ratio(numerator, denominator):
    """Elementwise division with 0/0 = 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)


# -- kernels of distances ---------------------------------------------------------------------------------------


def exponential(D, beta=1.0, power=2.0):
    return np.exp(-(D**power) / beta)


def gaussian(X, Z, sigma=None, gamma=None):
    if gamma is not None:
        return np.exp(-gamma * l2(X, Z) ** 2)
    x, z = all_pairs(X, Z)
    return np.exp(-(((x - z) / sigma) ** 2).sum(axis=2) / 2)


def laplacian(X, Z, gamma):
    return np.exp(-gamma * l1(X, Z))


def matern(X, Z, nu, length):
    if nu == np.inf:
        return gaussian(X, Z, sigma=length)
    u = np.sqrt(2 * nu) * l2(X, Z) / length
    safe = np.where(u > 0, u, 1.0)
    return np.where(u > 0, 2 ** (1 - nu) / gamma_function(nu) * safe**nu * kv(nu, safe), 1.0)


def rational_quadratic(X, Z, alpha, length):
    return (1 + l2(X, Z) ** 2 / (2 * alpha * length**2)) ** -alpha


# -- histograms and categories ----------------------------------------------------------------------------------


def intersection(X, Z):
    return np.minimum(*all_pairs(X, Z)).sum(axis=2)


def chi2(X, Z):
    x, z = all_pairs(X, Z)
    return ratio(2 * x * z, x + z).sum(axis=2)


def hellinger(X, Z):
    x, z = all_pairs(X, Z)
    return np.sqrt(x * z).sum(axis=2)


def jensen_shannon(X, Z):
    x, z = np.broadcast_arrays(*all_pairs(X, Z))
    return (half_entropy(x, z) + half_entropy(z, x)).sum(axis=2)


def half_entropy(x, z):
    """x/2 log2((x + z) / x), 0 where x = 0."""
    there = x > 0
    return x / 2 * np.log1p(np.divide(z, x, out=np.zeros_like(x), where=there)) / np.log(2)


def categorical(X, Z):
    x, z = np.asarray(X)[:, None, :], np.asarray(Z)[None, :, :]
    return (x == z).mean(axis=2)


def delta(X, Z):
    return (categorical(X, Z) == 1).astype(float)


# -- algebra ----------------------------------------------------------------------------------------------------


def normalized(X, Z, k):
    norms = np.outer(np.sqrt(np.diag(k(X, X))), np.sqrt(np.diag(k(Z, Z))))
    return np.divide(k(X, Z), norms, out=np.zeros_like(norms), where=norms > 0)


def centered(X, Z, k, reference):
    of_x, of_z = k(X, reference).mean(axis=1), k(Z, reference).mean(axis=1)
    return k(X, Z) - of_x[:, None] - of_z[None, :] + k(reference, reference).mean()


def spatial_pyramid(A, B, levels, base):
    side = 2**levels
    total = 0.0
    for level in range(levels + 1):
        cells = 2**level
        weight = 1 / 2**levels if level == 0 else 1 / 2 ** (levels - level + 1)
        for i in range(cells):
            for j in range(cells):
                part = []
                for X in (A, B):
                    grid = X.reshape(len(X), side, side, -1)
                    rows, columns = (slice(k * side // cells, (k + 1) * side // cells) for k in (i, j))
                    part.append(grid[:, rows, columns].sum(axis=(1, 2)))
                total = total + weight * base(*part)
    return total
