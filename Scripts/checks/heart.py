# This source file is part of the Optimist open source project, under the MIT licence.
"""Measures the code that decides what the app's tables show: the places that change a half of a row or build the change
of an app's row, the files that apply it, and their size. A measure with a goal has a ceiling, which is never raised.

The measures read the sources without a compiler, and find types and folders by the names below. After a rename or a
move, `problems` asks for the new name.
"""

import math
import re
from dataclasses import dataclass, field

from checks import halves, row_changes
from checks.found import TEST_FOLDERS
from checks.swift_code import Code

CLIENT = "Sources/Optimist/"
INTERFACE = "Documentation/Interface/"
# If files move from one of these folders into a new folder, add the new folder.
HEART = ("Row", "Apply", "Capture", "Push", "Pull", "Engine")
LAW = "Row"
WORD, EDIT, CHANGE = "RemoteRow", "LocalEdit", "RowChange"

# A file in any folder puts rows into the app's tables if it declares or extends one of these types, calls `AppTable`'s
# `put` or `set` (with `at:`) or `delete`, or calls a function that `FITS` matches.
APPLIERS = (
    "DeletionTiming", "Door", "Fitting", "PageApplication", "ParkedRows", "Passage", "PushResults", "Restoration",
    "RowApplication", "TakenBack", "UnknownColumns", "UnseenSettling", "Vacancy")
MAKES = re.compile(r"\.\s*(?:put|set)\s*\(")
DELETES = re.compile(r"\btable\??\s*\.\s*delete\s*\(")
FITS = re.compile(r"(?<!func )\bdb\s*\.\s*attempt\s*\(\s*deferring\s*:|\bVacancy\s*\(\s*of\s*:")
DECLARES_FITTING = re.compile(r"\bfunc attempt\(deferring\b")

# A ceiling for lines or symbols exceeds the present number by this share: enough for a fix and its test.
ROOM = 0.01


@dataclass(frozen=True)
class Measure:
    """A number to count, and its goal. A measure without a goal is only shown in the table, without a ceiling."""

    name: str
    what: str
    goal: int | None = None
    is_size: bool = False


MEASURES = (
    Measure("word", f"assignments to fields of {WORD} outside its file", 0),
    Measure("word-moves", "– calls of its mutating functions outside"),
    Measure("word-wholes", "– values built or replaced outside"),
    Measure("edit", f"assignments to fields of {EDIT} outside its file", 0),
    Measure("edit-moves", "– calls of its mutating functions outside"),
    Measure("edit-wholes", "– values built, replaced or ended outside"),
    Measure("changes", f"functions that build a {CHANGE}", 1),
    Measure("fit", "files that fit, swap or park rows", 1),
    Measure("appliers", f"lines of {LAW}/ and of the files that put rows into the app's tables", 3_500, is_size=True),
    Measure("heart", f"lines of {', '.join(HEART)}", 8_500, is_size=True),
    Measure("pairs", "folder pairs that name each other", 4),
    Measure("back", "back-references of these pairs", 10),
    Measure("sources", "Swift lines of sources", 70_000, is_size=True),
    Measure("tests", "Swift lines of tests", 40_000, is_size=True),
    Measure("symbols", "public symbols", 1_700, is_size=True),
)


@dataclass
class Result:
    """The number and the hits of each measure, and the names listed above that no source file declares."""

    numbers: dict = field(default_factory=dict)
    hits: dict = field(default_factory=dict)
    missing: list = field(default_factory=list)

    def note(self, name, hits):
        self.numbers[name], self.hits[name] = len(hits), hits


def lines(texts):
    return sum(text.count("\n") for text in texts)


def folder(file):
    """The folder of a file of the client, or "." for a file outside all folders."""
    first, slash, _ = file.removeprefix(CLIENT).partition("/")
    return first if slash else "."


def client(sources):
    """The Swift files of the client's module, without the steps of its tutorial."""
    return {name: text for name, text in sources.items()
            if name.startswith(CLIENT) and name.endswith(".swift") and ".docc/" not in name}


def declared(code):
    """The types of a file that other files can name: top-level types that are not private."""
    return {scope.name for scope in code.types
            if scope.kind != "extension" and not scope.is_private and code.around(scope.start) is None}


def count_halves(result, codes, sources):
    ours = (halves.MUTATING.findall(text) for name, text in sources.items() if "Sources/" in name)
    changing = halves.CHANGING.union(*ours)
    for key, name in (("word", WORD), ("edit", EDIT)):
        half = halves.read_half(name, codes)
        if not half.file:
            result.missing.append(name)
        found = halves.changes(half, codes, sources, changing)
        for kind, hits in found.items():
            result.note(key if kind == "fields" else f"{key}-{kind}", hits)


def makes(code):
    """Whether a file calls `put(_:at:)`, `set(_:at:)` or `delete(_:)` of a table."""
    return DELETES.search(code.text) or any(re.search(r"(?:^|,)\s*at\s*:", code.statement(code.partner.get(match.end() - 1, match.end()))[1])
               for match in MAKES.finditer(code.text))


def count_appliers(result, codes, sources):
    """Counts the files that fit, swap or park rows, and the lines of every file that decides or writes the app's rows."""
    names = set().union(*(declared(code) for code in codes.values()))
    result.missing += [name for name in APPLIERS if name not in names]
    result.note("fit", [file for file, code in codes.items()
                        if FITS.search(code.text) and not DECLARES_FITTING.search(code.text)])
    appliers = [
        file for file, code in codes.items()
        if folder(file) == LAW or file in result.hits["fit"] or makes(code) or any(
            scope.name in APPLIERS and code.around(scope.start) is None for scope in code.types)]
    result.hits["appliers"] = [f"{file}: {lines([sources[file]])}" for file in appliers]
    result.numbers["appliers"] = lines(sources[file] for file in appliers)


def count_pairs(result, codes):
    """Counts the pairs of folders that use each other's types. A file counts once for each type it uses.

    The back-references of a pair are the uses in the direction with fewer uses.
    """
    homes, named = {}, {}
    for file, code in codes.items():
        for name in declared(code):
            homes.setdefault(name, set()).add(folder(file))
    for file, code in codes.items():
        here = folder(file)
        for name in set(re.findall(r"\b[A-Z]\w*", code.text)) & homes.keys():
            for home in homes[name] if here not in homes[name] else ():
                named.setdefault((here, home), []).append(f"{file}: {name}")
    pairs = [(one, other) for one, other in sorted(named) if one < other and (other, one) in named]
    result.note("pairs", [f"{one} {len(named[one, other])}, {other} {len(named[other, one])}" for one, other in pairs])
    smaller = [min((named[one, other], f"{one} → {other}"), (named[other, one], f"{other} → {one}"),
                   key=lambda way: len(way[0])) for one, other in pairs]
    result.note("back", [f"{way}: {reference}" for references, way in smaller for reference in references])


def count_sizes(result, sources, interfaces):
    folders = {}
    for file, text in client(sources).items():
        folders[folder(file)] = folders.get(folder(file), 0) + lines([text])
    result.missing += [f"{name}/" for name in {*HEART, LAW} if name not in folders]
    result.hits["heart"] = [f"{name}: {folders.get(name, 0)}" for name in HEART]
    result.numbers["heart"] = sum(folders.get(name, 0) for name in HEART)
    swift = {name: text for name, text in sources.items() if name.endswith(".swift") and ".docc/" not in name}
    result.numbers["sources"] = lines(
        text for name, text in swift.items() if name.startswith(("Sources/", "Server/Sources/")))
    result.numbers["tests"] = lines(text for name, text in swift.items() if name.startswith(TEST_FOLDERS))
    result.numbers["symbols"] = sum(
        not line.startswith("#") and ": conforms to " not in line
        for text in interfaces.values() for line in text.splitlines())


def count(sources, interfaces):
    """Counts every measure. `sources` maps Swift files to their texts, and `interfaces` the lists of public declarations."""
    result = Result()
    codes = {name: Code(text) for name, text in client(sources).items()}
    count_halves(result, codes, sources)
    if not row_changes.cases(CHANGE, codes):
        result.missing.append(CHANGE)
    result.hits["changes"], result.numbers["changes"] = row_changes.built(CHANGE, codes, sources)
    count_appliers(result, codes, sources)
    count_pairs(result, codes)
    count_sizes(result, sources, interfaces)
    return result


def table(result):
    yield "| measure | now | goal |"
    yield "|---|---:|---:|"
    for measure in MEASURES:
        goal = "" if measure.goal is None else f"≤ {measure.goal:,}" if measure.goal else "0"
        yield f"| {measure.what} | {result.numbers[measure.name]:,} | {goal} |"


def problems(result, ceilings):
    """The measures above their ceilings, and the listed names that no source file declares, as sentences."""
    for name in result.missing:
        yield (f"Scripts/checks/heart.py looks for {name}, which is not in {CLIENT}. "
               "Replace it with its new name, or remove it.")
    for measure in MEASURES:
        number, ceiling = result.numbers[measure.name], ceilings.get(measure.name)
        if measure.goal is not None and ceiling is None:
            yield f"Scripts/heart.json has no ceiling for {measure.name}. Scripts/heart --write adds it."
        elif measure.goal is not None and number > ceiling:
            yield f"{measure.what}: {number:,}; at most {ceiling:,}. Scripts/heart --where {measure.name} shows each."


def lowered(result, ceilings):
    """The ceilings for the present numbers, none higher than before. `ROOM` is added to a size."""
    found = {}
    for measure in MEASURES:
        if measure.goal is not None:
            number = result.numbers[measure.name]
            number = math.ceil(number * (1 + ROOM)) if measure.is_size else number
            found[measure.name] = min(number, ceilings.get(measure.name, number))
    return found
