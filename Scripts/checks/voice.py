# This source file is part of the Optimist open source project, under the MIT licence.
"""Counts the turns of phrase in turns.py: in comments and documents by folder, in the names of tests, in the texts of
errors and in the subjects of commits.

Scripts/voice.json notes the turns and words of each part. A part may have one turn more than noted. The same limit holds
for all parts together, or TOTAL turns in 1,000 words if that is more.
"""

import re
from dataclasses import dataclass

from checks.prose import error_texts, error_types, prose
from checks.turns import turns_in

NAMES, ERRORS, SUBJECTS = "names of tests", "texts of errors", "subjects of commits"
# The most turns in 1,000 words of a part that is not noted yet, and of all parts together.
EACH, TOTAL = 6, 4


def folder(file):
    """The folder that a file counts for: at most three levels below the package, such as Sources/Optimist/Outbox."""
    parts = file.split("/")[:-1]
    depth = 4 if parts[:1] == ["Server"] else 3
    return "/".join(parts[:depth]) or "."


def parts(texts, tests, subjects):
    """The paragraphs of each part of the project, each with its place.

    - texts: the text of each file.
    - tests: all tests. The names of Python tests are docstrings, which count for their folder.
    - subjects: the subject of each new commit, by its hash.
    """
    found = {}
    for file, text in texts.items():
        found.setdefault(folder(file), []).extend((file, paragraph) for paragraph in prose(file, text))
    sources = {file: text for file, text in texts.items() if file.endswith(".swift") and "Sources/" in file}
    types = error_types(sources)
    found[ERRORS] = [(file, words) for file, text in sources.items() for words in error_texts(text, types)]
    found[NAMES] = [(test.file, test.plain) for test in tests if test.file.endswith(".swift")]
    found[SUBJECTS] = list(subjects.items())
    return found


@dataclass(frozen=True)
class Count:
    words: int = 0
    turns: int = 0

    @property
    def rate(self):
        """Turns in 1,000 words."""
        return round(1000 * self.turns / max(self.words, 1), 2)


def count(parts):
    return {
        name: Count(sum(len(re.findall(r"[^\W\d_]+", paragraph)) for _, paragraph in paragraphs),
                    sum(len(turns_in(paragraph)) for _, paragraph in paragraphs))
        for name, paragraphs in parts.items()
    }


def total(counts):
    return Count(sum(one.words for one in counts.values()), sum(one.turns for one in counts.values()))


def limit(found, noted):
    """The most turns that a part may have: its noted turns, or as many in 1,000 words as it had, and one more."""
    rate = noted.rate if noted else EACH
    return int(max(noted.turns if noted else 0, rate * found.words / 1000)) + 1


def problems(counts, noted):
    """The parts with too many turns, and the parts that have improved by more than one turn, as sentences."""
    for name, found in sorted(counts.items()):
        most, before = limit(found, noted.get(name)), noted.get(name)
        if found.turns > most:
            yield (f"{name}: {found.turns} turns in {found.words} words; at most {most}. "
                   f"Scripts/tidy --turns '{name}' shows them, and what to write instead.")
        elif before and found.turns < before.turns - 1 and found.rate <= before.rate:
            yield f"{name}: {found.turns} turns, fewer than {before.turns}. Scripts/tidy --lower notes that."
    found = total(counts)
    most = max(limit(found, total(noted)), int(TOTAL * found.words / 1000))
    if found.turns > most:
        yield f"all parts: {found.turns} turns in {found.words} words; at most {most}."


def lowered(counts, noted):
    """The counts to note: the present one of a part that has improved or is new, and the noted one of any other part.

    Subjects of commits are not noted, because a commit on the main branch keeps its subject.
    """
    result = {}
    for name, found in sorted(counts.items()):
        before = noted.get(name)
        if before and found.rate > before.rate:
            result[name] = before
        elif before:
            result[name] = Count(found.words, min(found.turns, before.turns))
        elif name != SUBJECTS and found.turns <= limit(found, None):
            result[name] = found
    return result
