"""KernelFeatures: the explicit features of a kernel as a transformer, which is what linear machines need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in

from mercer.kernels import Kernel
from mercer.kernels.columns import distinct
from mercer.kernels.named import NAMES
from mercer.machines.base import KernelMachine, warn_of_zeros
from mercer.machines.fit import Fit, InputFeatures, fit_of, view
from mercer.samples import Samples
from mercer.samples.base import Array


@dataclass(frozen=True, eq=False, kw_only=True)
class FeaturesFit(Fit):
    """A kernel whose features are numbered, and a sample which has the columns that they are named by."""

    kernel: Kernel
    example: Samples
    n_features_out: int


class KernelFeatures(TransformerMixin, KernelMachine):  # type: ignore[misc]
    """The explicit feature map of a kernel, where it is finite: k(x, z) = transform(x) . transform(z)

    Parameters
    ----------
    kernel : str, callable or Kernel, default="linear"
        A kernel with finitely many features, such as ``Spectrum``, ``WeisfeilerLehman`` or ``Polynomial``. The features
        of kernels of graphs, of ``Subtree`` and, without an alphabet, of words are the parts that the training samples
        have. Others, which only new samples have, are left out: they meet nothing in training, so no machine could
        weigh them.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, its data-dependent parameters found and its features numbered.

    Notes
    -----
    A linear machine behind it predicts at a cost that does not depend on the number of support vectors. (So do the
    expansions of ``SVC`` and the others, which form the same weights at the first prediction where that pays.)

    With ``set_output(transform="pandas")`` sparse features become a frame of sparse columns, and memory does not grow;
    with ``"polars"``, which has none, a frame of dense ones.

    Examples
    --------
    >>> from mercer import KernelFeatures, LinearSVC
    >>> from mercer.kernels import WeisfeilerLehman
    >>> from sklearn.pipeline import make_pipeline
    >>> path, ring = [(0, 1), (1, 2), (2, 3)], [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> machine = make_pipeline(KernelFeatures(WeisfeilerLehman(2)), LinearSVC())
    >>> machine.fit([path, ring], [0, 1]).predict([[(0, 1), (1, 2), (2, 3), (3, 4)]])
    array([0])
    >>> machine[0].get_feature_names_out().tolist()
    ['node', 'node(node)', 'node(node, node)', 'node(node(node, node))', 'node(node(node), node(node, node))',
     'node(node(node, node), node(node, node))']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"kernel": [StrOptions(set(NAMES)), Kernel, callable]}

    _n_features_out = view()

    def __init__(self, kernel: Any = "linear") -> None:
        self.kernel = kernel

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the kernel's data-dependent parameters and numbers its features."""
        X, features = self._admitted(X)
        kernel = self._chosen_kernel(features.count)
        samples = kernel.samples(X)
        kernel = kernel.resolve(samples).in_columns_of(samples)
        example = samples.take(np.arange(1))
        count = kernel.features(example).shape[1]
        warn_of_zeros(kernel, kernel.diag_of(samples), samples)
        self._fit = FeaturesFit(**features.found(), kernel=kernel, example=example, n_features_out=count)
        return self

    def transform(self, X: Any) -> Any:
        """The features of X, one row per sample; a CSR array where the kernel's are sparse."""
        fit = fit_of(self)
        features = fit.kernel.features(self._checked(X, InputFeatures(self, fit)))
        return self._contained(features, X) if sp.issparse(features) else features

    def _contained(self, features: Any, X: Any) -> Any:
        """Sparse features as scikit-learn can put them into the container that ``set_output`` asks for."""
        container = _get_output_config("transform", self)["dense"]
        if container == "default":
            return features
        if container != "pandas":
            return features.toarray()
        import pandas as pd  # type: ignore[import-untyped]  # whoever asks for its frames has it

        index = X.index if isinstance(X, (pd.DataFrame, pd.Series)) else None
        return pd.DataFrame.sparse.from_spmatrix(features, index=index)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the features; see ``Kernel.feature_names``. Those of columns may be given."""
        fit = fit_of(self)
        example = fit.example
        if fit.n_features_in is not None:
            names = _check_feature_names_in(InputFeatures(self, fit), input_features)
            example = example.named(names.tolist())
        return distinct(fit.kernel.names_of(example))
