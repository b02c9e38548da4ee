# This source file is part of the Optimist open source project, under the MIT licence.
"""A minimal Debian in a directory, with separate processes and a separate network."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

BOOT = Path(__file__).with_name("boot-root.sh")
TOOLS = ("debootstrap", "unshare", "nsenter", "ip", "curl")


def why_not():
    """Why this machine cannot make such a root, or nothing if it can."""
    if os.geteuid() != 0:
        return "it needs root"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    return f"it needs {', '.join(missing)}" if missing else None


def ran(*command):
    """Runs a command until it exits, and returns its output. If it fails, the error contains the output."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}"
    return done.stdout


class CleanRoot:
    def __init__(self, path):
        self.path = Path(path)
        self._unshare = None
        self._group = None
        # The id of the root's first process, as this machine counts.
        self.first_process = None

    def make(self, debian):
        """Installs the base of a Debian, such as bookworm."""
        ran("debootstrap", "--variant=minbase", debian, self.path)
        shutil.copy("/etc/resolv.conf", self.path / "etc/resolv.conf")
        ran("chroot", self.path, "apt-get", "update")

    def copy_to(self, other):
        ran("cp", "-a", "--reflink=auto", self.path, other.path)

    def boot(self):
        """Starts systemd, as a machine does that can reach no other one."""
        mounted = next(line.split() for line in open("/proc/self/mounts") if line.split()[2] == "cgroup2")
        self._group = Path(mounted[1], f"clean-root-{os.getpid()}")
        self._group.mkdir()
        self.start("--ipc", "--uts", "--cgroup", BOOT, self.path)
        end = time.monotonic() + 60
        while subprocess.run(self.entering("systemctl", "is-active", "-q", "basic.target"), capture_output=True).returncode:
            assert time.monotonic() < end, "systemd has not come up"
            time.sleep(0.1)

    def start(self, *words):
        """Starts a program in separate namespaces. The last word is the program, the words before are options of `unshare`."""
        words = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--propagation", "private", *words]
        joining = 'echo $$ >"$0/cgroup.procs"; exec "$@"' if self._group else 'exec "$@"'
        self._unshare = subprocess.Popen(
            ["bash", "-c", joining, str(self._group), *map(str, words)], stdin=subprocess.DEVNULL,
            stdout=open(f"{self.path}.log", "w"), stderr=subprocess.STDOUT)
        children = Path(f"/proc/{self._unshare.pid}/task/{self._unshare.pid}/children")
        while not (found := children.read_text().split()):
            assert self._unshare.poll() is None, Path(f"{self.path}.log").read_text()
            time.sleep(0.01)
        self.first_process = found[0]

    def entering(self, *command):
        """The words of a command that runs in the root."""
        return ["nsenter", "-t", self.first_process, "-a", "-r", "-w", *map(str, command)]

    def run(self, *command):
        return ran(*self.entering(*command))

    def reaching(self, *command):
        """The words of a command of this machine that has the root's network."""
        return ["nsenter", "-t", self.first_process, "-n", *map(str, command)]

    def files(self, apart_from):
        """The paths of all files and folders on the root's disk, except those below some folders."""
        found = set()
        for folder, folders, files in os.walk(self.path):
            here = os.path.relpath(folder, self.path)
            folders[:] = [name for name in folders if os.path.normpath(os.path.join(here, name)) not in apart_from]
            found |= {os.path.normpath(os.path.join(here, name)) for name in [*folders, *files]}
        return found

    def end(self):
        """Ends all that runs in the root."""
        if self.first_process and self._unshare.poll() is None:
            os.kill(int(self.first_process), signal.SIGKILL)
            self._unshare.wait()
        if self._group and self._group.exists():
            for folder, _, _ in os.walk(self._group, topdown=False):
                os.rmdir(folder)
