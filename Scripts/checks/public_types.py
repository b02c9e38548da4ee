# This source file is part of the Optimist open source project, under the MIT licence.
"""Finds public types of the same name in two modules. An app that imports both would have to qualify them."""

import re

from checks import swift_text

TYPE = re.compile(
    r"(?P<open>\{)|(?P<close>\})|"
    r"(?<![.\w])(?P<kind>struct|class|enum|actor|protocol|extension|typealias)\s+(?P<name>`?\w+`?(?:\.\w+)*)")
MODULE = re.compile(r"(?:^|/)Sources/(\w+)/")


def public_types(text):
    """The names of the public types of a Swift file. A nested type's name begins with the outer types, as in `A.B`."""
    code, _ = swift_text.split(text)
    scopes, pending = [], None
    for match in TYPE.finditer(code):
        if match["open"]:
            scopes.append(pending)
            pending = None
        elif match["close"]:
            pending = None
            if scopes:
                scopes.pop()
        elif match["kind"] == "class" and match["name"] in ("func", "var", "let", "subscript"):
            continue
        else:
            start = max(code.rfind(mark, 0, match.start()) for mark in "\n{};")
            full = ".".join([scope for scope in scopes if scope] + [match["name"].strip("`")])
            if match["kind"] != "extension" and re.search(r"\b(public|open)\b", code[start + 1 : match.start()]):
                yield full
            pending = None if match["kind"] == "typealias" else match["name"].strip("`")


def problems(sources):
    """The names that several modules use for public types, as sentences."""
    places = {}
    for file, text in sources.items():
        if module := MODULE.search(file):
            for name in public_types(text):
                places.setdefault(name, {}).setdefault(module[1], file)
    for name, modules in sorted(places.items()):
        if len(modules) > 1:
            yield f"The public type {name} is in {' and in '.join(modules.values())}. Rename one of them."
