# This source file is part of the Optimist open source project, under the MIT licence.
"""A minimal test runner that prints claims: one line for each, and a count at the end."""

import sys
import traceback

from form import FORM


class Skip(Exception):
    """Raised by a claim that cannot be tested on this machine; its text is the reason."""


class Claims:
    """Collects functions whose docstrings are claims, and runs them in order."""

    def __init__(self):
        self._claims = []
        self._left = 0

    def __call__(self, function):
        self._claims.append(function)
        return function

    def full(self, function):
        """Adds a claim that the short form leaves out."""
        if FORM != "short":
            return self(function)
        self._left += 1
        return function

    def run(self, *given):
        """Runs every claim, prints the count, and exits with 1 if a claim fails or there is none."""
        failed = skipped = 0
        for claim in self._claims:
            name = " ".join(claim.__doc__.split())
            try:
                claim(*given)
                print(f"ok    {name}", flush=True)
            except Skip as reason:
                skipped += 1
                print(f"skip  {name} ({reason})", flush=True)
            except (Exception, SystemExit):  # A claim that exits must not skip the others.
                failed += 1
                print(f"FAIL  {name}", flush=True)
                traceback.print_exc(file=sys.stdout)
        if self._left:
            print(f"{self._left} more in the full form", flush=True)
        if skipped:
            print(f"{skipped} skipped", flush=True)
        print(f"{len(self._claims) - failed - skipped} passed, {failed} failed", flush=True)
        sys.exit(1 if failed or not self._claims else 0)
