"""Pictures of searches: scores over two parameters, along one, and by the number of samples.

Displays as scikit-learn has them, of its searches as well as of ours; they draw what was found, and never show it.
"""

from mercer.selection.displays.learning import LearningCurveDisplay
from mercer.selection.displays.path import PathDisplay
from mercer.selection.displays.surface import ValidationSurfaceDisplay

__all__ = ["LearningCurveDisplay", "PathDisplay", "ValidationSurfaceDisplay"]
