# This source file is part of the Optimist open source project, under the MIT licence.
"""Reads the outline of a Swift file without a compiler: types, functions, and the statement around a place."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from checks import swift_text
from checks.sizes import FUNCTION, body

TYPE = re.compile(
    r"(?<![.\w])(?P<kind>struct|class|enum|actor|protocol|extension|typealias)\s+(?!(?:func|var|let|subscript|init)\b)"
    r"(?P<name>[\w.]+)")
PROPERTY = re.compile(
    r"(?<![.\w])(?P<keyword>let|var)\s+(?P<name>\w+)\s*(?::\s*(?P<type>[^=\n{};]+)|=\s*(?P<value>[\w.]+))?")
ASSIGNS = re.compile(r"\s+(?:[-+*/%^|]|&[-+*]?|&?<<|&?>>)?=(?!=)\s")
KEYWORDS = set("return in case try await if guard where else while for switch is as throw let var default".split())
OPENING, CLOSING = "([{", ")]}"


@dataclass(frozen=True)
class Scope:
    """A type or a function, with its start and the braces of its body."""

    kind: str
    name: str
    start: int
    opening: int
    end: int
    is_mutating: bool = False
    is_private: bool = False
    parameters: tuple = ()
    result: str = ""

    def holds(self, index):
        return self.opening < index < self.end


def parts(text):
    """Splits a list at its commas, except commas in brackets."""
    found, depth, start = [], 0, 0
    for at, mark in enumerate(text):
        if mark in "([{<" or mark in ")]}" or (mark == ">" and text[at - 1] != "-"):
            depth += 1 if mark in "([{<" else -1
        elif mark == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
    return [*found, text[start:]] if text.strip() else []


class Code:
    """The code of a file, with spaces in place of comments and strings."""

    def __init__(self, text):
        self.text, _ = swift_text.split(text)
        self.partner = {}
        self._lines = [match.start() for match in re.finditer(r"\n", self.text)]
        stack = []
        for mark in re.finditer(r"[(){}\[\]]", self.text):
            if mark[0] in OPENING:
                stack.append(mark.start())
            elif stack:
                opening = stack.pop()
                self.partner[opening], self.partner[mark.start()] = mark.start(), opening

    def line(self, index):
        return bisect_right(self._lines, index - 1) + 1

    @cached_property
    def types(self):
        """The types and extensions, in order. The body of a `typealias` is empty."""
        found = []
        for match in TYPE.finditer(self.text):
            opening = match.end() if match["kind"] == "typealias" else self.text.find("{", match.end())
            end = self.partner.get(opening, opening)
            modifiers = self.text[self.text.rfind("\n", 0, match.start()) + 1 : match.start()]
            found.append(Scope(match["kind"], match["name"].split(".")[-1], match.start(), opening, end,
                               is_private="private" in modifiers))
        return found

    @cached_property
    def functions(self):
        """The functions, initializers, subscripts and computed properties with a body."""
        found = []
        for match in FUNCTION.finditer(self.text):
            opening = body(self.text, match.end())
            if opening is not None:
                head = self.text[match.end() : opening]
                modifiers = self.text[self.text.rfind("\n", 0, match.start()) + 1 : match.start()]
                kind = "property" if match["computed"] else "function"
                name = match["name"] or match["other"] or match["computed"]
                found.append(Scope(
                    kind, name, match.start(), opening, self.partner.get(opening, len(self.text)),
                    is_mutating="mutating" in modifiers.split(), **self._signature(match, head)))
        return found

    def _signature(self, match, head):
        """The parameters of a function, each as label, name and type, and the type of its result."""
        if match["computed"]:
            return {"result": match[0].split(":", 1)[1].strip()}
        opening = self.text.find("(", match.end() - 1)
        closing = self.partner.get(opening, opening)
        parameters = []
        for part in parts(self.text[opening + 1 : closing]):
            names, _, kind = part.partition(":")
            words = re.findall(r"\w+", names)
            if words:
                parameters.append((words[0], words[-1], kind.split("=")[0].strip()))
        arrow = re.search(r"->\s*(.*)", head[max(closing - match.end(), 0) :], re.DOTALL)
        result = re.split(r"\bwhere\b", arrow[1])[0].strip() if arrow else ""
        return {"parameters": tuple(parameters), "result": result}

    def type_at(self, index):
        """The innermost type or extension around a place, or None."""
        return max((scope for scope in self.types if scope.holds(index)), key=lambda scope: scope.start, default=None)

    def function_at(self, index):
        """The innermost function around a place, or None."""
        return max((scope for scope in self.functions if scope.holds(index)), key=lambda scope: scope.start, default=None)

    def properties(self):
        """The stored properties, each as the scope of its type and the match of its declaration."""
        for match in PROPERTY.finditer(self.text):
            owner = self.type_at(match.start())
            modifiers = self.text[self.text.rfind("\n", 0, match.start()) + 1 : match.start()]
            is_computed = re.match(r"[^=\n]*\{", self.text[match.end("name") :]) is not None
            if owner and not is_computed and "static" not in modifiers and self.around(match.start()) == owner.opening:
                yield owner, match

    def around(self, index):
        """The innermost bracket around a place, or None."""
        while index > 0:
            index -= 1
            if self.text[index] in OPENING:
                return index
            if self.text[index] in CLOSING:
                index = self.partner.get(index, index)
        return None

    def block_end(self, index):
        """The end of the braces around a place."""
        opening = self.around(index)
        while opening is not None and self.text[opening] != "{":
            opening = self.around(opening)
        return len(self.text) if opening is None else self.partner.get(opening, len(self.text))

    def path(self, index):
        """The start of the path whose last name begins at `index`, and the names before the last name.

        A name includes the opening bracket of a subscript or call that follows it, as in `rows[`.
        """
        names = []
        while dot := re.search(r"[?!]*\s*\.\s*$", self.text[max(index - 200, 0) : index]):
            at, bracket = index - len(dot[0]), ""
            while at and self.text[at - 1] in ")]?!":
                at = self.partner.get(at - 1, at - 1) if self.text[at - 1] in ")]" else at - 1
                bracket = self.text[at] if self.text[at] in "([" else bracket
            name = re.search(r"[\w$]*$", self.text[max(at - 100, 0) : at])[0]
            if not name and not bracket:
                break
            names.insert(0, name + bracket)
            index = at - len(name)
        return index, names

    def statement(self, index):
        """The start of the statement around a place, and its text up to that place, without the contents of brackets.

        The text begins after the innermost bracket around the place, or at the beginning of the statement.
        """
        at, found = index, ""
        while at > 0:
            mark = self.text[at - 1]
            if mark in CLOSING and mark != "}":
                at = self.partner.get(at - 1, at - 1)
                found = self.text[at] + mark + found
            elif mark in OPENING or mark in ";}" or (mark == "\n" and not self._continues(at - 1)):
                break
            else:
                at, found = at - 1, mark + found
        return at, found

    def _continues(self, index):
        """Whether the line break at `index` is within a statement."""
        line = self.text[self.text.rfind("\n", 0, index) + 1 : index].strip()
        before, after = self.text[:index].rstrip()[-1:], self.text[index : index + 200].lstrip()[:1]
        if re.match(r"(@unknown )?(case|default)\b.*:$", line) or line == "":
            return line == "" and before not in ("{", "}", ";", "")
        ends_open = before in tuple("=(,?:&|+*/<>-") or re.search(r"\b(return|try|await)$", line) is not None
        return ends_open or after in tuple("=?:&|+*/<>-.")
