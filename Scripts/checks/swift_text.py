# This source file is part of the Optimist open source project, under the MIT licence.
"""Tells the code of a Swift file from its comments and its string literals, without a compiler."""

import re

TOKEN = re.compile(
    r"""
    (?P<line>//[^\n]*)
    | (?P<block>/\*)
    | (?P<string>(?P<raw>\#*)(?P<quotes>\"\"\"|\"))
    """,
    re.VERBOSE,
)


def end_of_block(text, start):
    """The end of the block comment that begins at `start`. Block comments nest in Swift."""
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def end_of_interpolation(text, start):
    """The end of an interpolation whose opening parenthesis is before `start`."""
    depth, at = 1, start
    while at < len(text) and depth:
        token = TOKEN.match(text, at)
        if token and token["string"]:
            at = end_of_string(text, token)
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


def end_of_string(text, token):
    """The end of the string literal that a token begins, with its interpolations."""
    closing, escape, at = token["quotes"] + token["raw"], "\\" + token["raw"], token.end()
    while at < len(text):
        if text.startswith(closing, at):
            return at + len(closing)
        if text.startswith(escape, at):
            at += len(escape)
            at = end_of_interpolation(text, at + 1) if text.startswith("(", at) else at + 1
        elif text[at] == "\n" and token["quotes"] == '"':
            return at
        else:
            at += 1
    return at


def blank(text):
    """Spaces in place of a text, with its line breaks."""
    return re.sub(r"[^\n]", " ", text)


def split(text):
    """The code with blank comments and strings, and the comments, each with its first line."""
    code, comments, at = [], [], 0
    while token := TOKEN.search(text, at):
        code.append(text[at : token.start()])
        if token["line"]:
            end = token.end()
        elif token["block"]:
            end = end_of_block(text, token.start())
        else:
            end = end_of_string(text, token)
        literal = text[token.start() : end]
        if not token["string"]:
            comments.append((text.count("\n", 0, token.start()) + 1, literal))
        code.append(blank(literal))
        at = end
    return "".join(code) + text[at:], comments
