"""Checks of one kind, which run one after the other on one cluster."""

import sys
import time
import traceback


class Suite:
    """The checks of a file, in their order: functions that raise an exception where one fails."""

    def __init__(self):
        self.checks = []

    def check(self, function):
        self.checks.append(function)
        return function

    def run(self, *subjects, after=lambda: None, names=()):
        """Runs the checks whose names have one of `names`, or all, and prints a line for each.

        `subjects` are what the checks get. `after` runs after each check, which fails where
        it raises an exception. Returns the number of failures.
        """
        passed = failed = 0
        for each in self.checks:
            if names and not any(name in each.__name__ for name in names):
                continue
            began = time.monotonic()
            holds = _succeeds(each, *subjects)
            holds = _succeeds(after) and holds
            passed, failed = passed + holds, failed + (not holds)
            name = each.__name__.replace("_", " ")
            seconds = time.monotonic() - began
            print(f"{'holds' if holds else 'FAILS'}  {name}  ({seconds:.1f} s)", flush=True)
        if passed + failed == 0:
            print(f"no check has one of these words in its name: {' '.join(names)}")
            return 1
        print(f"{failed} of {passed + failed} checks failed" if failed
              else f"{passed} checks passed", flush=True)
        return failed


def _succeeds(function, *arguments):
    try:
        function(*arguments)
        return True
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return False
