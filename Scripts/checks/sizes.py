# This source file is part of the Optimist open source project, under the MIT licence.
"""Checks the length of files, functions and test names."""

import ast
import re
from pathlib import PurePath

from checks import swift_text

FILE_LINES = 400
FUNCTION_LINES = 60
NAME_WORDS = 20

FUNCTION = re.compile(
    r"(?<![.\w])(?:func\s+(?P<name>`[^`]*`|[^\s(<]+)|(?P<other>init|deinit|subscript)\b(?=[?!]?\s*[(<{])|"
    r"var\s+(?P<computed>\w+)\s*:[^=\n{]+(?=\{))"
)
DECLARATION = re.compile(
    r"\n\s*(?:@|#|(?:public|package|internal|private|fileprivate|static|mutating|nonisolated|func|init|var|let|case|"
    r"associatedtype|subscript|struct|enum|class|actor|protocol|extension|typealias)\b)"
)


def closing(code, start):
    depth = 0
    for mark in re.compile(r"[(){}\[\]]").finditer(code, start):
        depth += 1 if mark[0] in "({[" else -1
        if depth == 0:
            return mark.start()
    return len(code)


def body(code, start):
    """The index of the brace that opens the body of a declaration, or None without a body."""
    at = start
    while at < len(code):
        if code[at] == "{":
            return at
        if code[at] == "}" or DECLARATION.match(code, at):
            return None
        at = closing(code, at) + 1 if code[at] in "([" else at + 1
    return None


def swift_functions(text):
    code, _ = swift_text.split(text)
    for match in FUNCTION.finditer(code):
        opening = body(code, match.end())
        if opening is not None:
            first, last = (code.count("\n", 0, index) + 1 for index in (match.start(), closing(code, opening)))
            yield match["name"] or match["other"] or match["computed"], first, last - first + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def functions(file, text):
    """The functions of a Swift or Python file, each as its name, first line and number of lines."""
    if file.endswith(".swift"):
        return swift_functions(text)
    # The Python programs in Scripts have no suffix.
    return python_functions(text) if PurePath(file).suffix in ("", ".py") else ()


def problems(sources):
    """The files and functions that are too long, as sentences. `sources` maps files to their texts."""
    for file, text in sources.items():
        lines = text.count("\n")
        if lines > FILE_LINES:
            yield f"{file}: {lines} lines; at most {FILE_LINES}. Move one idea into a separate file."
        for name, line, length in functions(file, text):
            if length > FUNCTION_LINES:
                yield f"{file}:{line}: {name} has {length} lines; at most {FUNCTION_LINES}. Extract a part."


def name_problems(tests):
    """The tests whose names are too long without the numbers of their rules, as sentences."""
    for test in tests:
        words = len(test.plain.split())
        if words > NAME_WORDS:
            yield f"{test.file}: a test's name has {words} words, at most {NAME_WORDS}: {test.claim}"
