# This source file is part of the Optimist open source project, under the MIT licence.
"""Counts passed and failed tests in the output of a stage."""

import re
from dataclasses import dataclass, field


@dataclass
class Count:
    passed: int = 0
    skipped: int = 0
    # A sentence for each failure.
    failures: list[str] = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures


def whole(name, status, log):
    """A stage that passes or fails as a whole, such as a build."""
    return Count(passed=1) if status == 0 else Count(failures=[name])


def swift_tests(name, status, log):
    """The tests of Swift Testing. The symbol at the start of a line depends on the system."""
    # A run of several targets prints one such line for all of them.
    ran = sum(int(count) for count in re.findall(r"^\S+ +Test run with (\d+) tests?", log, re.M))
    failures = [
        line for line in re.findall(r"^\S+ +(Test .* failed after .*)", log, re.M) if not line.startswith("Test run")
    ]
    if not failures and (status != 0 or ran == 0):
        failures = [f"{name} did not finish"]
    # Swift Testing also counts skipped tests as run.
    skipped = len(re.findall(r'^\S+ +Test .* skipped(?:: ".*")?$', log, re.M))
    return Count(max(ran - len(failures) - skipped, 0), skipped, failures)


def counted(name, status, log):
    """A program that prints its count: "N passed, N failed" at the end, and before it "N skipped"."""
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", log, re.M)
    passed, failed = map(int, counts[-1]) if counts else (0, 0)
    skips = re.findall(r"^(\d+) skipped$", log, re.M)
    failures = [f"{name}: {line}" for line in re.findall(r"^FAIL  (.*)", log, re.M)]
    failures += [f"{name}: an unnamed test"] * (failed - len(failures))
    if not failures and (not counts or status != 0):
        failures = [f"{name} did not finish"]
    return Count(passed, int(skips[-1]) if skips else 0, failures)


def telling(log, lines=60):
    """The part of a failed stage's output that explains the failure: errors of Swift Testing and the compiler, failed claims
    with their tracebacks, or else the last lines."""
    marked = []
    for line in log.splitlines():
        if re.search(r"recorded an issue|^↳|error:|^FAIL  |Fatal error", line):
            marked.append(line)
            follows = line.startswith("FAIL  ")
        elif marked and follows and not re.match(r"(ok|skip)  |\d+ (passed|skipped|more)", line):
            marked.append(line)
        else:
            follows = False
    return "\n".join((marked or log.splitlines())[-lines:])
