# This source file is part of the Optimist open source project, under the MIT licence.
"""The glossary must be short and in use, and no cell of a table may be an essay."""

import re

from checks import swift_text

GLOSSARY_WORDS = 30
CELL_CHARACTERS = 800


def glossary(architecture):
    """The words that the table of the section "Words" explains."""
    section = re.search(r"^## Words\n(.*?)(?=^## |\Z)", architecture, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (?!word \|)(?!-)([^|]+?) \|", section[1] if section else "", re.MULTILINE)
    return [word.strip() for row in rows for word in row.split(",")]


def identifiers(sources):
    """Each identifier of the code as lower-case words, such as "page row" for PageRow, and with a space around it."""
    found = set()
    for text in sources.values():
        code, _ = swift_text.split(text)
        found |= set(re.findall(r"\w+", code))
    parts = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
    return {f" {' '.join(parts.findall(name)).lower()} " for name in found}


def glossary_problems(architecture, sources):
    """The faults of the glossary, as sentences."""
    words = glossary(architecture)
    if not 0 < len(words) < GLOSSARY_WORDS:
        yield (f"Documentation/ARCHITECTURE.md: the glossary has {len(words)} words; at most {GLOSSARY_WORDS - 1}. "
               "Use the word that the field has, and leave that out.")
    names = "".join(identifiers(sources))
    for word in words:
        if not re.search(rf" {re.escape(word)}(s|es|d|ed|ing)? ", names):
            yield f"Documentation/ARCHITECTURE.md: no name in the code uses the word “{word}” of the glossary."


def table_problems(documents):
    """Cells of tables that are too long, as sentences. `documents` maps files to their texts."""
    for file, text in documents.items():
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("|"):
                longest = max(map(len, re.split(r"(?<!\\)\|", line)))
                if longest > CELL_CHARACTERS:
                    yield (f"{file}:{number}: a table cell has {longest} characters; at most {CELL_CHARACTERS}. "
                           "Say it below the table.")
