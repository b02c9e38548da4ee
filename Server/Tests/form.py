# This source file is part of the Optimist open source project, under the MIT licence.
"""The length of tests that draw at random or kill at every step: OPTIMIST_TESTS is short, full or soak."""

import os

FORM = os.environ.get("OPTIMIST_TESTS") or "full"
if FORM not in ("short", "full", "soak"):
    raise SystemExit(f"OPTIMIST_TESTS is {FORM}, and should be short, full or soak.")
SOAK = FORM == "soak"


def form(short, full, soak):
    """Returns the amount for the current form."""
    return {"short": short, "full": full, "soak": soak}[FORM]
