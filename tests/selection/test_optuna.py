"""Optuna searches with trials of ours: the lines of the documentation, where Optuna is installed."""

import re
from pathlib import Path

import numpy as np
import pytest

from mercer import SVC
from mercer.selection import cross_val_score

PAGE = Path(__file__).parents[2] / "docs" / "selection.md"
#: Blocks that not everybody can run.
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.standard_normal(120) > 0


def test_the_lines_of_the_documentation_find_what_single_fits_say():
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed: pip install optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    (block,) = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    lines = [line for line in block.splitlines() if line and "import" not in line]
    assert len(lines) == 3
    names = {"SVC": SVC, "X": X, "y": y}
    exec(compile(block, PAGE, "exec"), names)
    study = names["study"]
    assert len(study.trials) == 20
    assert study.best_value == max(trial.value for trial in study.trials)
    for trial in study.trials[::5]:
        assert trial.value == pytest.approx(cross_val_score(SVC(**trial.params), X, y, cv=5).mean(), abs=1e-12)
