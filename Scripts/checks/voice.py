# This source file is part of the Optimist open source project, under the MIT licence.
"""Counts turns that make a native reader read a sentence twice, in comments and documents, per folder.

Each is English of another age or another grammar, and each has a plainer form. GRDB, SwiftNIO, Hummingbird and swift-log
have 0.2 of them in 1,000 words. Some have a proper use now and then, so none is forbidden: the number may only go down.
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass

from checks import swift_text

START = r"(?:(?<=^)|(?<=[.:;?!] ))"
VERB = r"(?:is|was|are|were|has|have|had|does|did|can|cannot|may|must|will|would|comes|came|goes|went|stands|needs)"
PREPOSITION = r"(?:of|to|for|with|from|by|in|on|than|as|below|above|besides)"


@dataclass(frozen=True)
class Turn:
    """A turn: what it is called, how it is found, and what to write instead."""

    name: str
    pattern: str
    instead: str


TURNS = (
    Turn("fronted “Of …”", START + r"Of (?!course\b)\w+",
         "A sentence begins with its subject: “Of a remote that does not say …” is “If the remote does not say …”."),
    Turn("“of which”, “of whom”",
         r"\bof which\b|\b(?:of|to|for|with|from|by) whom\b|\b(?:of|to|for|with|from|below) whose\b",
         "Make two sentences: “a row of which nothing is here” is “a row that this device does not have”."),
    Turn("“whoever”", r"\b[Ww]ho(?:m)?(?:so)?ever\b", "Name the actor: the caller, the device, the app, the user."),
    Turn("“who” without a noun", START + r"Who \w[^.?]*[.;]", "Name the actor: “A user who …”, “The caller that …”."),
    Turn("“nobody”, “somebody”", r"\b(?:[Nn]o|[Ss]ome|[Ee]very)body\b",
         "A machine is no body. Name it: no subscriber, another device, every process."),
    Turn("“what is …” for a thing", START + rf"What {VERB}\b[^.?!]*[.;:,]|\b{PREPOSITION} what {VERB}\b",
         "Name the thing: “What is not said may be anything” is “If the server omits it, assume the worst”."),
    Turn("“anew”", r"\banew\b", "“again”, “new”, or the verb with “re-”."),
    Turn("“but for”", r"\b[Bb]ut for\b", "“except”, “except for”."),
    Turn("“is to be”", r"\b(?:is|are|was|were) to be\b", "“must be”, “will be”, “should be”."),
    Turn("“any more”", r"\b[Aa]ny more\b", "“no longer”, “anymore” at the end of a sentence."),
    Turn("“goes along”", r"\b(?:go|goes|going|went|gone) along\b",
         "“is sent with it”, “is deleted with it”: say what happens."),
    Turn("“is none”", r"(?<!there )\b(?:is|are|was|were) (?:none|no one's|nobody's)\b(?! of)",
         "Say what it is not: “that is not a number”."),
    Turn("“is seen to”", r"\b(?:seen|sees) to\b(?! (?:be|have)\b)", "Name the act: “was handled”, “was deleted”."),
    Turn("“he” for a machine or a caller", r"\b(?:[Hh]e|[Hh]im|[Hh]is)\b", "“it”, or “they” for a person."),
    Turn("“so is”, “nor is”", START + r"(?:So is|So are|So do|So does|Nor is|Nor does|Neither is)\b",
         "Repeat the verb: “Updates are captured too.”"),
    Turn("a second “which”", r"\bwhich\b[^.;:]*\bwhich\b", "One clause for each idea: make two sentences."),
    Turn("“is had”, “to be had”", r"\b(?:is|are|be|was|were) had\b", "“is available”, or name who has it."),
    Turn("“the former”, “the latter”", r"\bthe latter\b|\bthe former(?= (?:is|was|has|one)\b|[.,;:])",
         "Repeat the noun."),
)
LICENCE = "This source file is part of the Optimist open source project, under the MIT licence."


def paragraphs(lines):
    """Lines of prose joined into paragraphs. A blank line, a list item, a heading and a table row begin a new one."""
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
    """The comments of a Swift file, as paragraphs."""
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
    """The comments and docstrings of a Python file, as paragraphs."""
    lines, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            lines += ([""] if last != token.start[0] - 1 else []) + [token.string.lstrip("# ").split("noqa:")[0]]
            last = token.start[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            lines += ["", *(ast.get_docstring(node) or "").splitlines()]
    return paragraphs(lines)


def prose(file, text):
    """What a person reads in a file, as paragraphs."""
    if file.endswith(".swift"):
        return swift_prose(text)
    return paragraphs(text.splitlines()) if file.endswith((".md", ".tutorial")) else python_prose(text)


def folder(file):
    """The folder that a file counts for: at most three levels below the package, such as Sources/Optimist/Outbox."""
    parts = file.split("/")[:-1]
    depth = 4 if parts[:1] == ["Server"] else 3
    return "/".join(parts[:depth]) or "."


def turns_in(paragraph):
    """The turns in a paragraph, each with the words that make it."""
    return [(turn, match[0]) for turn in TURNS for match in re.finditer(turn.pattern, paragraph)]


@dataclass
class Count:
    """The count of a folder."""

    words: int = 0
    turns: int = 0

    @property
    def rate(self):
        """Turns in 1,000 words."""
        return round(1000 * self.turns / max(self.words, 1), 2)


def count(texts):
    """The count of each folder. `texts` maps files to their texts."""
    counts = {}
    for file, text in texts.items():
        here = counts.setdefault(folder(file), Count())
        for paragraph in prose(file, text):
            here.words += len(re.findall(r"[^\W\d_]+", paragraph))
            here.turns += len(turns_in(paragraph))
    return counts


def problems(counts, baseline):
    """The folders that have more turns than the baseline allows, or fewer than it notes, as sentences.

    A folder fails if it has more of them than before, and more in 1,000 words: an author may delete plain text, or use one
    turn in much new text. A folder that is new may have as many in 1,000 words as all folders had together.
    """
    words = sum(entry["words"] for entry in baseline.values())
    whole = Count(words, sum(entry["turns"] for entry in baseline.values())).rate
    for name, found in sorted(counts.items()):
        allowed = baseline.get(name)
        limit = Count(allowed["words"], allowed["turns"]).rate if allowed else whole
        if found.rate > limit and found.turns > (allowed["turns"] if allowed else 0):
            yield (f"{name}: {found.turns} turns in {found.words} words, {found.rate} in 1,000; at most {limit}. "
                   f"Scripts/tidy --turns {name} shows them, and what to write instead.")
        elif allowed and found.turns < allowed["turns"] and found.rate <= limit:
            yield f"{name}: {found.turns} turns, fewer than {allowed['turns']}. Scripts/tidy --lower notes that."


def lowered(counts, baseline):
    """The baseline with each folder that has got better, without those that are gone; never one that has got worse.

    A folder that is new comes in only if the whole has not got worse.
    """
    whole = sum(found.turns for found in counts.values())
    may_add = not baseline or whole <= sum(entry["turns"] for entry in baseline.values())
    result = {}
    for name, found in sorted(counts.items()):
        before = baseline.get(name)
        is_better = before and found.rate <= Count(before["words"], before["turns"]).rate
        if is_better or (before is None and may_add):
            result[name] = {"turns": found.turns, "words": found.words}
        elif before:
            result[name] = before
    return result
