import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import _native
from mercer.kernels import Gaussian
from mercer.threads import limited


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
        check=False,
    )


def test_threadpoolctl_sees_and_limits_the_core():
    assert any(entry["internal_api"] == "mercer" for entry in threadpool_info())
    before = _native.thread_count()
    with threadpool_limits(1):
        assert _native.thread_count() == 1
    assert _native.thread_count() == before


def test_omp_num_threads_is_respected():
    done = run("from mercer import _native; assert _native.thread_count() == 3", OMP_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr


def test_at_least_one_thread():
    with pytest.raises(ValueError, match="at least 1"):
        _native.set_thread_count(0)


def test_results_do_not_depend_on_the_number_of_threads():
    X = np.random.default_rng(0).standard_normal((700, 33)).astype(np.float32)
    results = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            results.append(Gaussian(3.0)(X))
    assert all((result == results[0]).all() for result in results)


@pytest.mark.parametrize("count", [300, 700, 3000])
def test_products_do_not_depend_on_the_number_of_threads(count):
    rng = np.random.default_rng(0)
    X, V = rng.standard_normal((count, 50)), rng.standard_normal((count, 3))
    results = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            results.append(Gaussian(5.0).gram(X) @ V)
    assert all((result == results[0]).all() for result in results)


@pytest.mark.slow("a process of its own")
def test_importing_the_package_alone_takes_nothing_that_it_does_not_need():
    done = run("import sys, mercer; assert 'mercer.machines' not in sys.modules; mercer.SVC, mercer.kernels.Gaussian")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow("processes of its own")
def test_forked_children_compute():
    done = run(
        """
        import multiprocessing as mp, numpy as np
        from mercer.kernels import Gaussian
        X = np.random.default_rng(0).standard_normal((600, 20))
        def work(_):
            return float(Gaussian(2.0)(X).sum())
        if __name__ == "__main__":
            expected = work(0)
            with mp.get_context("fork").Pool(2) as pool:
                assert pool.map(work, range(3)) == [expected] * 3
        """,
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.alone("a child has ten seconds to end")
def test_forked_children_do_not_wait_for_threads_that_are_gone():
    done = run(
        """
        import os, sys, threading, time
        from mercer.kernels import Custom, Linear
        begun = threading.Event()
        def slow(s, t):
            begun.set()
            time.sleep(60)
        busy = Custom(slow, pairwise=True).gram(["a"])
        threading.Thread(target=busy.diag, daemon=True).start()
        begun.wait()
        child = os.fork()
        if child == 0:
            Linear().gram([[1.0]]).diag()
            os._exit(0)
        end = time.monotonic() + 10
        while time.monotonic() < end and (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            time.sleep(0.01)
        if ended != (child, 0):
            os.kill(child, 9)
            sys.exit("the child waits")
        """,
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.stress("sends Ctrl-C into a long block of a matrix")
def test_ctrl_c_stops_a_long_block_within_a_second():
    code = """
        import sys, time, threading, signal, numpy as np
        from mercer.kernels import Matern
        signal.signal(signal.SIGINT, signal.default_int_handler)
        X = np.random.default_rng(0).standard_normal((12000, 2000))
        out = None
        threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
        try:
            Matern(1.5)(X)
            print("finished")
        except KeyboardInterrupt:
            print("interrupted")
    """
    done = run(code)
    assert done.stdout.strip() == "interrupted", (done.stdout, done.stderr)


def test_limits_may_end_in_any_order():
    before = _native.thread_count()
    first, second = limited(1), limited(3)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert _native.thread_count() == 3
    second.__exit__(None, None, None)
    assert _native.thread_count() == before
