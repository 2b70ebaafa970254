"""A callback of scikit-learn's protocol, for the tests of what machines tell while they are fitted."""

import threading


class Watcher:
    """Notes what the solver tells, and may stop it."""

    def __init__(self, stop=False):
        self.stop, self.seen, self.ended, self.begun = stop, [], [], threading.Event()

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, metadata=None, fitted_estimator=None):
        if context.task_name == "fit":
            self.ended.append(fitted_estimator)
        else:
            self.seen.append(metadata)
            self.begun.set()
        return self.stop
