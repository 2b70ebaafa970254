"""The version space: the SVM in its centre, the Bayes point at its mean, and the picture."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from mercer.inspection import version_space
from mercer.kernels import Gaussian, Linear, Sigmoid, repair
from mercer.solvers import NotSeparableError

X, y = make_blobs(30, 2, centers=[[-3, 0], [1.5, 1]], random_state=1)


@pytest.fixture(scope="module")
def space():
    return version_space(X, y)


def test_every_sample_separates_the_data(space):
    assert (space.hyperplanes @ space.walls.T > 0).all()
    np.testing.assert_allclose(np.linalg.norm(space.hyperplanes, axis=1), 1)
    assert space.dimension == 3
    assert space.mixing < 1.1


def test_the_svm_is_the_centre_of_the_largest_sphere(space):
    lifted = np.hstack([X, np.ones((30, 1))])
    walls = np.where(y == 1, 1, -1)[:, None] * lifted / np.linalg.norm(lifted, axis=1, keepdims=True)
    rng = np.random.default_rng(0)
    anywhere = rng.standard_normal((200_000, 3))
    anywhere /= np.linalg.norm(anywhere, axis=1, keepdims=True)
    widest = (anywhere @ walls.T).min(axis=1).max()
    assert np.sin(space.radius) > widest > 0.99 * np.sin(space.radius)
    assert space.touched == 3
    values = np.where(y == 1, 1, -1) * space.svm(X)
    assert values.min() == pytest.approx(np.sin(space.radius), rel=1e-6)


def test_the_bayes_point_is_the_mean_of_all_consistent_directions(space):
    rng = np.random.default_rng(1)
    anywhere = rng.standard_normal((400_000, 3))
    anywhere /= np.linalg.norm(anywhere, axis=1, keepdims=True)
    mean = anywhere[(anywhere @ space.walls.T > 0).all(axis=1)].mean(axis=0)
    mean /= np.linalg.norm(mean)
    assert mean @ space.mean > np.cos(np.radians(2))
    assert 0 < space.bayes_radius < space.radius
    assert (np.sign(space.bayes_point(X)) == np.where(y == 1, 1, -1)).all()


def test_on_an_arc_the_two_centres_are_one():
    space = version_space([[-1.0], [-0.2], [0.5], [2.0]], [0, 0, 1, 1], samples=3000)
    assert space.dimension == 2
    assert space.angle < 0.05 * space.radius
    with pytest.raises(ValueError, match="at least 3 dimensions"):
        space.plot()


def test_in_the_space_of_a_kernel():
    ring = np.array([[0.0, 0], [2, 0], [0, 2], [-2, 0], [0, -2]])
    labels = [1, 0, 0, 0, 0]
    with pytest.raises(NotSeparableError, match="the version space is empty; use a richer kernel"):
        version_space(ring, labels)
    with pytest.raises(NotSeparableError, match="the version space is empty"):
        version_space(X, np.random.default_rng(0).permutation(y))
    space = version_space(ring, labels, Gaussian(1.0), samples=500)
    assert space.dimension == 5
    assert (space.svm(ring) > 0).tolist() == [True, False, False, False, False]


def test_results_depend_on_nothing_but_the_seed(space):
    again = version_space(X, y)
    assert (again.hyperplanes == space.hyperplanes).all()
    assert not (version_space(X, y, random_state=1).hyperplanes == space.hyperplanes).all()


def test_the_picture_shows_walls_sphere_and_both_centres(space):
    matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install mercer[plots]")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ax = space.plot()
    (circle,) = ax.patches
    assert circle.radius == pytest.approx(np.tan(space.radius))
    black = [line for line in ax.lines if line.get_color() == "black"]
    assert len(black) == space.touched
    for line in black:  # the touched walls are tangents of the circle
        (x0, y0), (x1, y1) = line.get_xydata()
        assert abs(x0 * y1 - x1 * y0) / np.hypot(x1 - x0, y1 - y0) == pytest.approx(circle.radius, rel=1e-2)
    assert {text.get_text() for text in ax.get_legend().get_texts()} >= {"Bayes point", "hyperplanes"}
    assert version_space(X, y, Gaussian(2.0), samples=200).plot(plt.subplots()[1]) is not None
    plt.close("all")


def test_more_or_fewer_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="two classes, but y has 3"):
        version_space(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="at most 2000 samples"):
        version_space(np.ones((2001, 1)), np.arange(2001) % 2)


@pytest.mark.parametrize(
    "k", [Sigmoid(0.5, 0.5), Sigmoid(1.0, -1.0), Gaussian(0.5) - 0.5 * Gaussian(1.0), -1 * Linear()], ids=repr
)
def test_without_a_space_there_is_no_version_space(k):
    points = np.random.default_rng(0).standard_normal((30, 2))
    labels = points[:, 0] > 0
    with pytest.raises(ValueError, match="not positive semi-definite"):
        version_space(points, labels, k)


@pytest.mark.parametrize("k", [repair(Sigmoid(0.5, 0.5)), Gaussian(0.5), Linear()], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_sphere_inside_is_larger_than_that_of_the_machine(k, dtype):
    points = np.random.default_rng(0).standard_normal((30, 2)).astype(dtype)
    space = version_space(points, points[:, 0] > 0, k)
    assert space.bayes_radius <= space.radius * (1 + 1e-6)
    assert space.touched >= 2
