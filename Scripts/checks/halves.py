# This source file is part of the Optimist open source project, under the MIT licence.
"""Finds code that changes a half of a row, the server's word or the user's edit, outside the file of that half.

The fields of a half, its mutating functions and the properties that hold it are read from the sources, so renaming them
does not break the search.
"""

import re
from dataclasses import dataclass, field

from checks.swift_code import ASSIGNS, KEYWORDS

# Mutating methods of the standard library.
CHANGING = set(
    "append insert remove removeAll removeValue removeFirst removeLast popFirst popLast merge updateValue subtract toggle "
    "negate formUnion formIntersection formSymmetricDifference sort reverse swapAt reserveCapacity replaceSubrange".split())
MUTATING = re.compile(r"\bmutating\s+func\s+(\w+)")
# A variable and the last name of the path it copies, such as `var edit = entry.local`.
VARIABLE = re.compile(
    r"\bvar\s+(?P<name>\w+)\s*=\s*(?:(?:try|await)[?!]?\s+)*(?:\w+[?!]*\.)*(?P<last>\w+)[?!]*(?P<next>\s*\(|\.)?")


@dataclass(frozen=True)
class Hit:
    """A place in the sources that a measure counts."""

    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text}"


def hit(file, code, source, index):
    line = code.line(index)
    return Hit(file, line, source[file].splitlines()[line - 1].strip())


@dataclass
class Half:
    """A half of a row: its type, the file of the type, and the names that other files use for it."""

    name: str
    file: str = ""
    fields: set = field(default_factory=set)
    # The mutating functions of the type.
    moves: set = field(default_factory=set)
    # The properties of this type, each as its owner and its name, such as RowEntry and remote.
    holders: set = field(default_factory=set)
    # The functions that return a value of this type.
    makers: set = field(default_factory=set)

    @property
    def is_value(self):
        return re.compile(rf"(?:\w+\.)?{self.name}\??$")


def read_half(name, codes):
    """Reads a half from the sources. `file` is empty if no file declares the type."""
    half = Half(name)
    for file, code in codes.items():
        if any(scope.name == name and scope.kind not in ("extension", "typealias") for scope in code.types):
            half.file = file
        for owner, match in code.properties():
            kind = (match["type"] or match["value"] or "").strip()
            if owner.name == name and match["keyword"] == "var":
                half.fields.add(match["name"])
            elif match["keyword"] == "var" and half.is_value.match(kind):
                half.holders.add((owner.name, match["name"]))
        for function in code.functions:
            owner = code.type_at(function.start)
            if function.is_mutating and owner and owner.name == name:
                half.moves.add(function.name)
            if half.is_value.match(function.result):
                half.makers.add(function.name)
    return half


def locals_of(half, code):
    """The local variables and parameters that hold a half: the name, and the start and end of its scope."""
    for function in code.functions:
        for _, name, kind in function.parameters:
            if half.is_value.match(kind.removeprefix("inout ").strip()):
                yield name, function.start, function.end
    for match in re.finditer(rf"(\w+)\s*:\s*(?:inout\s+)?{half.name}\b(?!\.)", code.text):
        yield match[1], match.start(), code.block_end(match.start())
    held = {name for _, name in half.holders}
    for match in VARIABLE.finditer(code.text):
        is_call, is_longer = (match["next"] or "").endswith("("), match["next"] == "."
        is_made = is_call and match["last"] in half.makers | {half.name}
        if is_made or (match["last"] in held and not is_call and not is_longer):
            yield match["name"], match.start(), code.block_end(match.start())


def follow(code, at, changing):
    """The use of a value whose name ends at `at`: "assigned", "changed" by a mutating method, or "read"."""
    text = code.text
    while True:
        if text[at : at + 1] in ("?", "!") and text[at : at + 2] != "!=":
            at += 1
        elif text[at : at + 1] == "[":
            at = code.partner.get(at, at) + 1
        elif member := re.compile(r"\s*\.\s*(\w+)").match(text, at):
            at = member.end()
            if re.compile(r"\(|\s*\{").match(text, at) and member[1] in changing:
                return "changed"
            if text[at : at + 1] == "(":
                return "read"
        else:
            return "assigned" if ASSIGNS.match(text, at) else "read"


def is_in_assigned_tuple(code, start, at):
    """Whether a path is an element of an assigned tuple, such as `(a, b.c) = (1, 2)`."""
    opening = code.around(start)
    if opening is None or code.text[opening] != "(" or code.text[at:].lstrip()[:1] not in (",", ")"):
        return False
    is_declared = re.search(r"(?:[\w)\]]|\b(?:let|var)\s+)$", code.text[max(opening - 20, 0) : opening]) is not None
    return not is_declared and ASSIGNS.match(code.text, code.partner[opening] + 1) is not None


def is_declaration(code, start):
    return re.search(r"\b(?:let|var|case|func)\s+$", code.text[max(start - 20, 0) : start]) is not None


class Search:
    def __init__(self, half, code, changing):
        self.half, self.code, self.changing = half, code, changing
        self.locals = list(locals_of(half, code))
        self.held = {name for _, name in half.holders}

    def is_half(self, names, start, name):
        """Whether a name belongs to a half: it follows a path to one, or is used alone in an extension of the half."""
        if names and names[-1] != "self":
            known = {local for local, first, last in self.locals if first <= start < last}
            return names[-1] in self.held | known
        owner = self.code.type_at(start)
        return owner is not None and owner.name == self.half.name and (bool(names) or not self.is_shadowed(name, start))

    def is_shadowed(self, name, start):
        """Whether a name is a local variable or a parameter of the function around a place."""
        function = self.code.function_at(start)
        if function is None:
            return False
        is_declared = re.search(rf"\b(?:let|var)\s+{name}\b", self.code.text[function.opening : start])
        return is_declared is not None or any(local == name for _, local, _ in function.parameters)

    def is_changed(self, start, at):
        """Whether the path from `start` to `at` is assigned, mutated, or passed as `inout`."""
        is_inout = re.search(r"(?:^|[\s(\[,])&$", self.code.text[max(start - 2, 0) : start]) is not None
        return is_inout or follow(self.code, at, self.changing) != "read" or is_in_assigned_tuple(self.code, start, at)

    def fields(self):
        """The places that change a field."""
        for match in self.names(self.half.fields):
            start, names = self.code.path(match.start())
            if not is_declaration(self.code, start) and self.is_changed(start, match.end()):
                if self.is_half(names, start, match[0]):
                    yield match.start()

    def moves(self):
        """The places that call a mutating function."""
        for match in self.names(self.half.moves):
            start, names = self.code.path(match.start())
            if self.code.text[match.end() : match.end() + 1] == "(" and not is_declaration(self.code, start):
                if self.is_half(names, start, match[0]):
                    yield match.start()

    def wholes(self):
        """The places that build a half, or assign a property that holds one. Each line counts once."""
        lines = {}
        for match in self.names(self.held | {self.half.name}):
            start, names = self.code.path(match.start())
            if match[0] == self.half.name:
                is_compared = re.search(r"[=!]=\s*$", self.code.text[max(start - 9, 0) : start]) is not None
                is_found = self.code.text[match.end() : match.end() + 1] == "(" and not is_compared
            else:
                end = match.end()
                is_assigned = ASSIGNS.match(self.code.text, end) or is_in_assigned_tuple(self.code, start, end)
                is_inout = re.search(r"(?:^|[\s(\[,])&$", self.code.text[max(start - 2, 0) : start])
                owner = self.code.type_at(start)
                is_own = owner is not None and (owner.name, match[0]) in self.half.holders
                is_known = is_own if names in ([], ["self"]) else True
                is_found = bool(is_assigned or is_inout) and is_known and not is_declaration(self.code, start)
            if is_found:
                lines.setdefault(self.code.line(start), match.start())
        return lines.values()

    def names(self, wanted):
        pattern = "|".join(map(re.escape, sorted(wanted - KEYWORDS)))
        return re.finditer(rf"(?<![\w$])(?:{pattern})(?!\w)", self.code.text) if pattern else ()


def changes(half, codes, source, changing):
    """The hits outside the file of a half: changes of its fields, calls of its mutating functions, and whole values."""
    found = {"fields": [], "moves": [], "wholes": []}
    for file, code in codes.items():
        if file != half.file:
            search = Search(half, code, changing)
            for kind, hits in found.items():
                hits += [hit(file, code, source, index) for index in getattr(search, kind)()]
    return found
