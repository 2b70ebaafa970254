"""The common bases of mercer's exceptions and warnings, so that one ``except`` or one filter meets them all.

Each stands beside the noun that raises it, and is also the exception of Python that it was expected to be.
"""


class MercerError(BaseException):
    """The base of every exception of mercer; each of them is also a ``ValueError``, a ``LinAlgError`` or the like.

    It derives from ``BaseException`` because one of them is a ``KeyboardInterrupt``: Ctrl-C during a fit must pass
    through ``except Exception``. All others are instances of ``Exception``, by their other base.

    >>> from mercer import MercerError
    >>> try:
    ...     Gaussian("median")([[0.0], [1.0]])
    ... except MercerError as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    UnresolvedKernelError True
    """


class MercerWarning(MercerError, Warning):  # noqa: N818 - Python's warnings are called so
    """The base of every warning of mercer; where warnings are raised, they are exceptions of mercer as well.

    >>> import warnings
    >>> from mercer import SVC, MercerWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", MercerWarning)
    ...     machine = SVC(kernel=-1 * Linear()).fit([[0.0], [1.0]], [0, 1])
    """
