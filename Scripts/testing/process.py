# This source file is part of the Optimist open source project, under the MIT licence.
"""Waits for processes and measures their CPU time."""

import os
import signal
import threading

# Seconds. Only ends processes that hang, so it is long enough for a busy machine.
PATIENCE = 300


def ended(process, patience=None, give_up=None):
    """Waits for a process. Returns its exit status, and the CPU time of it and its children in seconds.

    After `patience` seconds, calls `give_up` and kills the process.
    """
    if process.returncode is not None:
        return process.returncode, 0

    def kill():
        if give_up:
            give_up()
        os.kill(process.pid, signal.SIGKILL)

    hanging = threading.Timer(patience or threading.TIMEOUT_MAX, kill)
    hanging.daemon = True
    hanging.start()
    _, status, usage = os.wait4(process.pid, 0)
    hanging.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime
