"""What pictures are tested with: matplotlib without a screen, and figures that are closed again."""

import pytest

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install mercer[plots]")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _leaves_nothing_behind(monkeypatch):
    """No picture is shown, no setting of matplotlib changed; all figures are closed."""
    import matplotlib.pyplot as plt

    def shown(*_, **__):
        raise AssertionError("a display must not show itself")

    monkeypatch.setattr(plt, "show", shown)
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")
