#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Tests of Scripts/rules: each of its checks lets good text pass and finds the fault in bad text."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "Server" / "Tests")]
from checks import found, rules  # noqa: E402
from claims import Claims  # noqa: E402

claims = Claims()
PROMISES = "| | rule |\n|---|---|\n| W1 | A write is durable. |\n| Q1 | Reads are local. *No test: by construction.* |\n"
SWIFT = "    @Test(arguments: [1, 2])\n    func `W1 a write is durable`(value: Int) {}\n    @Test func plain() {}\n"
PYTHON = '@claims\n@slow\ndef survives(folder):\n    """W1 a kill loses\n    nothing."""\n\n\ndef helper():\n    """No test."""\n'


def check(tests, promises=PROMISES, texts=None, current=None):
    """The problems with these tests; the written file is current unless it is given."""
    known = rules.read_rules(promises)
    return rules.problems(known, tests, texts or {}, rules.written(known, tests) if current is None else current)


@claims
def finds_tests():
    """Tests are found in Swift and Python, with their numbers and the names that a document may use."""
    swift, python = found.tests_in("A.swift", SWIFT), found.tests_in("a.py", PYTHON)
    assert [test.claim for test in swift] == ["W1 a write is durable", "plain"], swift
    assert [test.rules for test in swift] == [["W1"], []], swift
    assert [(test.claim, test.function) for test in python] == [("W1 a kill loses nothing.", "survives")], python
    assert found.Test("a.py", "T9, T10: of two", "of_two").rules == ["T9", "T10"]
    assert found.Test("a.py", "M1 of two", "of_two").names == {"M1 of two", "of two"}


@claims
def each_rule_has_a_test():
    """A rule needs a test or a reason in italics; the text of the written file must be current."""
    tests = found.tests_in("A.swift", SWIFT)
    assert check(tests) == [], check(tests)
    assert "no test proves W1" in check([])[0]
    assert "no test proves Q1" in check(tests, PROMISES.replace("*", ""))[0]
    assert "run Scripts/rules" in check(tests, current="")[0]
    assert "- W1 a write is durable · `A.swift`" in rules.written(rules.read_rules(PROMISES), tests)


@claims
def each_number_is_a_rule():
    """A number in the name of a test, a comment or a document must be one of a rule."""
    tests = found.tests_in("A.swift", SWIFT)
    assert "A.swift: W2 is no rule" in check(tests + [found.Test("A.swift", "W1 W2 a write")])[0]
    assert "B.swift: S9 is no rule" in check(tests, texts={"B.swift": rules.comments("B.swift", "let a = 1  // See S9.")})[0]
    assert "b.py: S9 is no rule" in check(tests, texts={"b.py": rules.comments("b.py", "a = 1  # See S9.")})[0]
    assert check(tests, texts={"B.swift": rules.comments("B.swift", 'let S9 = "\\u{E9}"  // gRFC A6, W1')}) == []


if __name__ == "__main__":
    claims.run()
