# This source file is part of the Optimist open source project, under the MIT licence.
"""Checks that the glossary is short and in use, and that table cells are short."""

import re

from checks import swift_text

GLOSSARY_WORDS = 30
CELL_CHARACTERS = 800


def glossary(architecture):
    """The words in the table of the section "Words"."""
    section = re.search(r"^## Words\n(.*?)(?=^## |\Z)", architecture, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (?!word \|)(?!-)([^|]+?) \|", section[1] if section else "", re.MULTILINE)
    return [word.strip() for row in rows for word in row.split(",")]


def identifiers(sources):
    """Each identifier of the code as lower-case words between spaces, such as " page row " for PageRow."""
    found = set()
    for text in sources.values():
        code, _ = swift_text.split(text)
        found |= set(re.findall(r"\w+", code))
    parts = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
    return {f" {' '.join(parts.findall(name)).lower()} " for name in found}


def glossary_problems(architecture, sources):
    words = glossary(architecture)
    if not 0 < len(words) < GLOSSARY_WORDS:
        yield (f"Documentation/ARCHITECTURE.md: the glossary has {len(words)} words; at most {GLOSSARY_WORDS - 1}. "
               "Remove a word, and use the standard word of the field.")
    names = "".join(identifiers(sources))
    for word in words:
        if not re.search(rf" {re.escape(word)}(s|es|d|ed|ing)? ", names):
            yield f"Documentation/ARCHITECTURE.md: no name in the code uses the word “{word}” of the glossary."


def table_problems(documents):
    """The table cells that are too long, as sentences. `documents` maps files to their texts."""
    for file, text in documents.items():
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("|"):
                longest = max(map(len, re.split(r"(?<!\\)\|", line)))
                if longest > CELL_CHARACTERS:
                    yield (f"{file}:{number}: a table cell has {longest} characters; at most {CELL_CHARACTERS}. "
                           "Move the text below the table.")
