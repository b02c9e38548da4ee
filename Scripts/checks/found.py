# This source file is part of the Optimist open source project, under the MIT licence.
"""Finds the files, tests and commits of the project without building anything."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST_FOLDERS = ("Tests/", "Server/Tests/")

SWIFT_TEST = re.compile(r"@Test\b(?:(?!\bfunc\b).)*\bfunc\s+(?:`([^`]+)`|(\w+))", re.DOTALL)
PYTHON_TEST = re.compile(
    r'^@claims(?:\.full)?\n(?:@[^\n]*\n)*def (\w+)\([^\n]*:\n\s+"""(.*?)"""', re.MULTILINE | re.DOTALL)
LEADING_NUMBERS = re.compile(r"((?:[A-Z]\d{1,2},? )*[A-Z]\d{1,2})(?=:? )")


@dataclass(frozen=True)
class Test:
    """A test: its file, its claim, and the name of its function if the claim is its docstring."""

    file: str
    claim: str
    function: str = ""

    @property
    def rules(self):
        """The numbers of the rules that the test proves, which its claim begins with."""
        leading = LEADING_NUMBERS.match(self.claim)
        return leading[1].replace(",", "").split() if leading else []

    @property
    def plain(self):
        """The claim without the numbers of the rules."""
        leading = LEADING_NUMBERS.match(self.claim)
        return self.claim[leading.end() if leading else 0 :].lstrip(": ")

    @property
    def names(self):
        """The names that documents may use for the test."""
        return {self.claim, self.function.replace("_", " ")} - {""}


def files(*endings, root=ROOT):
    """The files of the project with these endings, sorted, including untracked files that git does not ignore."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE,
        text=True, check=True).stdout.split("\0")
    return sorted(name for name in set(listed) if name.endswith(endings) and (root / name).is_file())


def subjects(after, root=ROOT):
    """The subjects of the commits after a commit, by their hashes. None if this clone does not have that commit."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", f"{after}..HEAD"], cwd=root, capture_output=True, text=True)
    return None if log.returncode else dict(line.split(" ", 1) for line in log.stdout.splitlines())


def tests_in(file, text):
    if file.endswith(".swift"):
        return [Test(file, quoted or plain) for quoted, plain in SWIFT_TEST.findall(text)]
    return [Test(file, " ".join(claim.split()), function) for function, claim in PYTHON_TEST.findall(text)]


def all_tests(root=ROOT):
    names = [name for name in files(".swift", ".py", root=root) if name.startswith(TEST_FOLDERS)]
    return [test for name in names for test in tests_in(name, (root / name).read_text())]
