# This source file is part of the Optimist open source project, under the MIT licence.
"""Separates the code of a Swift file from its comments and string literals, without a compiler."""

import re
from functools import cache

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
    """The end of the string literal that begins with a token, including its interpolations."""
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
    """Replaces a text by spaces, and keeps its line breaks."""
    return re.sub(r"[^\n]", " ", text)


def tokens(text):
    """The comments and string literals of a text, each as its match and the index of its end."""
    at = 0
    while token := TOKEN.search(text, at):
        if token["line"]:
            at = token.end()
        elif token["block"]:
            at = end_of_block(text, token.start())
        else:
            at = end_of_string(text, token)
        yield token, at


@cache
def split(text):
    """The code with comments and strings replaced by spaces, and the comments, each with its line number."""
    code, comments, at = [], [], 0
    for token, end in tokens(text):
        literal = text[token.start() : end]
        if not token["string"]:
            comments.append((text.count("\n", 0, token.start()) + 1, literal))
        code += [text[at : token.start()], blank(literal)]
        at = end
    return "".join(code) + text[at:], comments


def strings(text):
    """The string literals, each with its index and its words. An interpolation is an "x"."""
    for token, end in tokens(text):
        if token["string"]:
            yield token.start(), words(text[token.end() : end].removesuffix(token["quotes"] + token["raw"]), token)


def words(body, token):
    """The words of the text between a literal's quotation marks."""
    escape, kept, at = "\\" + token["raw"], [], 0
    while (mark := body.find(escape, at)) >= 0:
        kept.append(body[at:mark])
        after = mark + len(escape)
        is_interpolation = body.startswith("(", after)
        kept.append("x" if is_interpolation else "" if body[after : after + 1] in ('"', "\n") else " ")
        at = end_of_interpolation(body, after + 1) if is_interpolation else after + 1
    return " ".join("".join([*kept, body[at:]]).split())
