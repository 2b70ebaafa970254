"""Reading a model: the margins of its examples, the support vectors it rests on, and the space it was chosen from.

>>> from mercer import SVC
>>> X, y = [[-2.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1]
>>> float(margins(SVC(C=10, kernel="linear", tol=1e-9).fit(X, y), X, y).margin.round(3))
1.0
"""

from mercer.inspection.margins import Margins, margins
from mercer.inspection.support import Support, SupportReport, support_report
from mercer.inspection.version_space import VersionSpace, version_space

__all__ = [
    "Margins",
    "Support",
    "SupportReport",
    "VersionSpace",
    "margins",
    "support_report",
    "version_space",
]
