# This source file is part of the Optimist open source project, under the MIT licence.
"""The end of a process, and what it has taken of the processors."""

import os
import signal
import threading

# Against hanging only, in seconds: a busy machine takes its time.
PATIENCE = 300


def ended(process, patience=None, give_up=None):
    """Waits for a process. Returns its exit status, and its processors' time with that of its children, in seconds.

    If it has not ended after `patience` seconds, `give_up` is called, and it is killed.
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
