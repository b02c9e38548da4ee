# This source file is part of the Optimist open source project, under the MIT licence.
"""Finds the code that builds the change of a row, such as `.put(values)`. Patterns and comparisons do not count."""

import re

from checks.halves import hit
from checks.swift_code import KEYWORDS, parts

CASE = re.compile(r"\bcase\s+([^\n{};]*)")


class Declarations:
    """The types of the declared parameters and properties, by name."""

    def __init__(self, codes):
        self.functions, self.properties = {}, {}
        for code in codes.values():
            for function in code.functions:
                owner = code.type_at(function.start)
                name = owner.name if function.name == "init" and owner else function.name
                self.functions.setdefault(name, []).append(function.parameters)
                if function.kind == "property":
                    self.properties.setdefault(function.name, set()).add(function.result)
            for owner, match in code.properties():
                kind = (match["type"] or match["value"] or "").strip()
                self.properties.setdefault(match["name"], set()).add(kind)
                self.functions.setdefault(owner.name, []).append(((match["name"], match["name"], kind),))

    def argument(self, callee, label, position):
        for parameters in self.functions.get(callee, ()):
            for place, (wanted, _, kind) in enumerate(parameters):
                if wanted == label or (label is None and wanted == "_" and place == position):
                    yield kind


def cases(name, codes):
    """The cases of an enum except `none`, and whether each has a payload. Empty if no file declares the enum."""
    found = {}
    for code in codes.values():
        for scope in code.types:
            if scope.kind == "enum" and scope.name == name:
                for match in CASE.finditer(code.text, scope.opening, scope.end):
                    if code.around(match.start()) == scope.opening:
                        for part in parts(match[1]):
                            found[re.match(r"\s*(\w+)", part)[1]] = "(" in part
    found.pop("none", None)
    return found


class Places:
    def __init__(self, name, found, code, declarations):
        self.name, self.cases, self.code, self.declarations = name, found, code, declarations

    def __iter__(self):
        text = self.code.text
        for match in re.finditer(rf"\.({'|'.join(self.cases)})\b", text):
            if self.cases[match[1]] != (text[match.end() : match.end() + 1] == "("):
                continue
            explicit = re.search(r"(\w+)$", text[max(match.start() - 60, 0) : match.start()])
            if explicit and explicit[1] not in KEYWORDS and explicit[1] != self.name:
                continue
            start = match.start() - len(explicit[1]) if explicit else match.start()
            if explicit is None and self._follows_an_expression(start):
                continue
            if not self._is_compared(start, match.end()) and not self._is_pattern(start):
                kinds = [kind for kind in self.kinds(start) if kind]
                if explicit or not kinds or any(re.search(rf"\b{self.name}\b", kind) for kind in kinds):
                    yield start

    def _follows_an_expression(self, start):
        """Whether the name after a dot is a member of the expression before it, which may end on an earlier line."""
        before = self.code.text[:start]
        if before[-1:] in ")]}?!\"`":
            return True
        if "\n" not in before[len(before.rstrip()) :]:
            return False
        word = re.search(r"\w*$", before.rstrip()[-30:])[0]
        return before.rstrip()[-1:] in tuple(")]}?!") or (word != "" and word not in KEYWORDS)

    def _is_compared(self, start, end):
        text = self.code.text
        return re.search(r"[=!~]=\s*$", text[max(start - 40, 0) : start]) is not None \
            or re.match(r"\s*[=!~]=\s", text[end : end + 40]) is not None

    def _is_pattern(self, start):
        while True:
            at, prefix = self.code.statement(start)
            if re.search(r"\bcase\b[^:=]*$", prefix):
                return True
            if at == 0 or self.code.text[at - 1] not in "([":
                return False
            start = at - 1

    def kinds(self, start):
        """The types that an expression may have in its context. Empty if the context does not show them."""
        at, prefix = self.code.statement(start)
        opening = at - 1
        if at > 0 and self.code.text[opening] in "([":
            return self._kinds_in_brackets(opening, prefix)
        prefix = re.sub(r"^\s*(?:@unknown )?(?:case\b[^:]*|default)\s*:", "", prefix).strip()
        declared = re.search(r"\b(?:let|var)\s+\w+\s*:\s*([^=]+?)\s*=\s", f"{prefix} ")
        if declared:
            return [declared[1]]
        if re.search(r"\b(?:let|var)\s+\w+\s*=\s", f"{prefix} "):
            return []
        assigned = re.search(r"(\w+)[?!]*(?:\[\])?\s+=\s", f"{prefix} ")
        if assigned:
            return list(self.declarations.properties.get(assigned[1], ()))
        function = self.code.function_at(start)
        return [function.result] if function and (prefix.startswith("return") or self._is_body(function, at)) else []

    def _is_body(self, function, at):
        """Whether the statement at `at` is the first of a function."""
        return self.code.text[function.opening + 1 : at].strip() == ""

    def _kinds_in_brackets(self, opening, prefix):
        """The types of an argument, or of an element of a tuple."""
        position = len(parts(prefix + "_")) - 1
        label = re.match(r"\s*(\w+)\s*:(?!:)", parts(prefix + "_")[-1])
        callee = re.search(r"(\w+)[?!]?$", self.code.text[max(opening - 60, 0) : opening])
        if callee and callee[1] not in KEYWORDS:
            return list(self.declarations.argument(callee[1], label[1] if label else None, position))
        found = []
        for kind in self.kinds(opening):
            elements = parts(re.sub(r"^\(|\)\??$", "", kind)) if kind.startswith("(") else [kind]
            found += elements[position : position + 1]
        return found


def built(name, codes, source):
    """The places that build a value of an enum, and the number of functions that contain one."""
    found, declarations, hits, places = cases(name, codes), Declarations(codes), [], set()
    for file, code in codes.items() if found else ():
        for index in Places(name, found, code, declarations):
            hits.append(hit(file, code, source, index))
            function = code.function_at(index)
            places.add((file, function.start if function else index))
    return hits, len(places)
