# This source file is part of the Optimist open source project, under the MIT licence.
"""Reads comments, docstrings, documents and the texts of errors as paragraphs without code."""

import ast
import io
import re
import tokenize

from checks import swift_text
from checks.swift_code import Code

ERROR_TYPE = re.compile(r"\b(?:struct|enum|class)\s+(\w+)\s*:[^{]*\b(?:Localized)?Error\b")
# A shorter literal in an error is a code or a name.
ERROR_WORDS = 3
LICENCE = "This source file is part of the Optimist open source project, under the MIT licence."


def paragraphs(lines):
    """Joins lines of prose into paragraphs. A blank line, a list item, a heading or a table row begins a new one."""
    joined, fenced = [], False
    for line in lines:
        line = line.strip()
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        if fenced or not line or LICENCE in line or re.match(r"<!--|\|--", line):
            joined.append("")
        elif line.startswith("|"):
            joined += line.split("|")
        elif re.match(r"(?:[-*#>]+|\d+\.) ", line) or not joined:
            joined += [re.sub(r"^(?:[-*#>]+|\d+\.) ", "", line)] + [""] * line.startswith("#")
        else:
            joined[-1] = f"{joined[-1]} {line}".strip()
    plain = (re.sub(r"`[^`]*`+|“[^”]*”|\]\([^)]*\)|https?://\S+", " x ", text) for text in joined)
    return [re.sub(r"[*\"\[\]_]", "", re.sub(r"\s+", " ", text)).strip() for text in plain if text.strip()]


def swift_prose(text):
    lines, last, source = [], None, text.split("\n")
    for line, comment in swift_text.split(text)[1]:
        if last is None or line != last + 1 or not source[line - 1].lstrip().startswith("/"):
            lines.append("")
        for part in comment.split("\n"):
            plain = re.sub(r"^\s*(?:///?|/\*+|\*/?)\s?|\*/$", "", part)
            lines.append(re.sub(r"^- \w[\w ]*:", "-", plain))
        last = line + comment.count("\n")
    return paragraphs(lines)


def python_prose(text):
    lines, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            lines += ([""] if last != token.start[0] - 1 else []) + [token.string.lstrip("# ").split("noqa:")[0]]
            last = token.start[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            lines += ["", *(ast.get_docstring(node) or "").splitlines()]
    return paragraphs(lines)


def prose(file, text):
    """The comments of a source file, or the text of a document, as paragraphs."""
    if file.endswith(".swift"):
        return swift_prose(text)
    return paragraphs(text.splitlines()) if file.endswith((".md", ".tutorial")) else python_prose(text)


def error_types(sources):
    """The names of the error types that the Swift files declare, and of the one in swift-argument-parser."""
    return {"ValidationError"}.union(*(ERROR_TYPE.findall(swift_text.split(text)[0]) for text in sources.values()))


def error_texts(text, types):
    """The texts of errors in a Swift file: the literals in calls of error types, and in the error types themselves."""
    code = Code(text)
    spans = [(scope.opening, scope.end) for scope in code.types if scope.name in types]
    for call in re.finditer(rf"\b(?:{'|'.join(sorted(types))})(?:\.\w+)?\(", code.text):
        spans.append((call.end() - 1, code.partner.get(call.end() - 1, call.end())))
    found, last = [], None
    for at, words in swift_text.strings(text):
        if any(start < at < end for start, end in spans):
            if last is not None and code.text[last:at].strip() == "+":
                words = f"{found.pop()} {words}"
            found.append(words)
            last = at
    return [words for words in found if len(words.split()) >= ERROR_WORDS]
