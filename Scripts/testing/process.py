# This source file is part of the Optimist open source project, under the MIT licence.
"""What a process has taken of the processors."""

import os


def ended(process):
    """Waits for a process. Returns its exit status, and its processors' time with that of its children, in seconds."""
    if process.returncode is not None:
        return process.returncode, 0
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime
