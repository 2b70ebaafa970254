"""Support vector machines against scikit-learn, scikit-learn-intelex, ThunderSVM and LIBSVM, each proved by one judge.

A case is data, a machine and its parameters (``cases``); every contestant (``contestants``) fits it in a process of its
own (``worker``), in turn with the others; ``judge`` recomputes objective and KKT violation in float64 from whatever
coefficients came out; ``report`` and ``plot`` write the tables and the picture.
"""

from benchmarks.svm.run import options, run

__all__ = ["options", "run"]
