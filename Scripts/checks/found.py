# This source file is part of the Optimist open source project, under the MIT licence.
"""Finds the tests of the project by reading its files. Nothing is built or run."""

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
    """A test: the file it is in, what it claims, and the name of its function if the claim stands elsewhere."""

    file: str
    claim: str
    function: str = ""

    @property
    def rules(self):
        """The numbers of the rules that the test proves: those with which its claim begins."""
        leading = LEADING_NUMBERS.match(self.claim)
        return leading[1].replace(",", "").split() if leading else []

    @property
    def names(self):
        """What a document may call the test."""
        return {self.claim, self.function.replace("_", " ")} - {""}


def files(*endings, root=ROOT):
    """The files of the project with these endings, whether or not they are committed yet, in order."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE,
        text=True, check=True).stdout.split("\0")
    return sorted(name for name in set(listed) if name.endswith(endings) and (root / name).is_file())


def tests_in(file, text):
    """The tests in the text of one file."""
    if file.endswith(".swift"):
        return [Test(file, quoted or plain) for quoted, plain in SWIFT_TEST.findall(text)]
    return [Test(file, " ".join(claim.split()), function) for function, claim in PYTHON_TEST.findall(text)]


def all_tests(root=ROOT):
    """Every test of the project."""
    names = [name for name in files(".swift", ".py", root=root) if name.startswith(TEST_FOLDERS)]
    return [test for name in names for test in tests_in(name, (root / name).read_text())]
