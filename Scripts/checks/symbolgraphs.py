# This source file is part of the Optimist open source project, under the MIT licence.
"""Reads the public symbols of the project's libraries from symbol graphs, which the compiler makes in seconds from the
modules of the last build."""

import json
import platform
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from checks.found import ROOT

CLIENT, SERVER = ROOT, ROOT / "Server"
# The server's build has every library, and builds the client's libraries with their trait.
BUILD = SERVER / ".build"


class Symbol:
    def __init__(self, graph, relations):
        self.id = graph["identifier"]["precise"]
        self.path = ".".join(graph["pathComponents"])
        self.kind = graph["kind"]["identifier"].removeprefix("swift.")
        text = "".join(part["spelling"] for part in graph["declarationFragments"])
        constraints = graph.get("swiftExtension", {}).get("constraints", [])
        self.declaration = re.sub(r"\s+", " ", text) + conditions(constraints)
        lines = graph.get("docComment", {}).get("lines", [])
        self.comment = "\n".join(line["text"] for line in lines).strip()
        location = graph.get("location")
        self.file = location["uri"].partition(f"{ROOT}/")[2] or Path(location["uri"]).name if location else ""
        self.line = location["position"]["line"] + 1 if location else 0
        kinds = {relation["kind"] for relation in relations}
        # It implements a requirement, which the protocol documents.
        self.is_witness = any("sourceOrigin" in relation for relation in relations)
        self.is_requirement = "requirementOf" in kinds

    def __str__(self):
        return f"{self.file}:{self.line}: {self.path}"


def conditions(constraints):
    """The `where` clause of a declaration, or an empty text."""
    signs = {"conformance": ":", "superclass": ":", "sameType": "=="}
    texts = [f"{one['lhs']} {signs.get(one['kind'], one['kind'])} {one['rhs']}".replace(" :", ":") for one in constraints]
    return f" where {', '.join(sorted(texts))}" if texts else ""


class Library:
    """The public symbols of a module, and the conformances of its types, as `Type: Protocol`."""

    def __init__(self, name, graphs):
        self.name = name
        symbols, relations = {}, {}
        for graph in graphs:
            symbols |= {symbol["identifier"]["precise"]: symbol for symbol in graph["symbols"]}
            for relation in graph["relationships"]:
                relations.setdefault(relation["source"], []).append(relation)
        with_default = {
            relation["target"]
            for known in relations.values()
            for relation in known
            if relation["kind"] == "defaultImplementationOf"
        }
        self.symbols = [
            Symbol(graph, relations.get(id, []))
            for id, graph in symbols.items()
            # A symbol that the compiler synthesizes, such as `init(rawValue:)` of an enum, does not have a location.
            if "location" in graph
        ]
        for symbol in self.symbols:
            symbol.is_requirement &= symbol.id not in with_default
        self.conformances = sorted(
            {
                f"{'.'.join(symbols[id]['pathComponents'])}: {relation['targetFallback'].rpartition('.')[2]}"
                + conditions(relation.get("swiftConstraints", []))
                for id, known in relations.items()
                if id in symbols
                for relation in known
                if relation["kind"] == "conformsTo" and "targetFallback" in relation
            }
            | {
                f"{'.'.join(symbols[id]['pathComponents'])}: {'.'.join(symbols[relation['target']]['pathComponents'])}"
                for id, known in relations.items()
                if id in symbols
                for relation in known
                if relation["kind"] == "conformsTo" and relation["target"] in symbols
            }
        )


def run(*command, folder=ROOT):
    """Returns the output of a command. Exits if the command fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command[:3]))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


@cache
def target_flags():
    target = json.loads(run("swiftc", "-print-target-info"))["target"]
    flags = ["-target", target["triple"]]
    if platform.system() == "Darwin":
        flags += ["-sdk", run("xcrun", "--show-sdk-path").strip()]
    return flags


def extract(name, modules, flags=()):
    """Reads the library of a built module.

    - modules: The folder of its `.swiftmodule`.
    - flags: Compiler options that find the modules it imports.
    """
    with tempfile.TemporaryDirectory() as folder:
        run_extract(name, modules, folder, *flags, "-skip-synthesized-members")
        return Library(name, [json.loads(file.read_text()) for file in sorted(Path(folder).iterdir())])


def run_extract(name, modules, folder, *flags):
    """Writes the graphs of a built module into a folder: its own, and one for each module it extends."""
    run(
        "swift", "symbolgraph-extract", "-module-name", name, "-I", modules, *flags, *target_flags(),
        "-minimum-access-level", "public", "-output-dir", folder,
    )  # fmt: skip


@cache
def build_flags():
    """The compiler options that find the C modules imported by the built modules."""
    manifest = BUILD / "debug.yaml"
    text = manifest.read_text() if manifest.exists() else ""
    # Module maps of the packages' C modules, and header folders of system libraries.
    flags = {f"-fmodule-map-file={map}" for map in re.findall(r'-fmodule-map-file=([^"]+)', text)}
    flags |= set(re.findall(r'"(-I[^"]*/include/[^"]+)"', text))
    return [part for flag in sorted(flags) for part in ("-Xcc", flag)]


def library_names(package):
    products = json.loads(run("swift", "package", "--ignore-lock", "dump-package", folder=package))["products"]
    return [target for product in products if "library" in product["type"] for target in product["targets"]]


def libraries(names=()):
    """Yields the libraries of both packages, or only the named ones."""
    for package in (CLIENT, SERVER):
        for name in library_names(package):
            if not names or name in names:
                yield extract(name, built(name), build_flags())


def write_graphs(name, folder):
    """Writes the graphs of one of our libraries into a folder, including members that protocols add."""
    run_extract(name, built(name), folder, *build_flags())


def built(name):
    """The folder with a library's module. Exits if the library is not built."""
    modules = BUILD / "debug/Modules"
    if not (modules / f"{name}.swiftmodule").exists():
        sys.exit(f"{name} is not built. Run: swift build --package-path Server --build-tests")
    return modules


def fixture(source, name="Fixture"):
    """Compiles a few lines of Swift into a library, for the scripts' own tests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.swift"
        file.write_text(source)
        run(
            "swiftc", "-emit-module", "-parse-as-library", "-module-name", name, "-swift-version", "6", *target_flags(),
            "-emit-module-path", Path(folder) / f"{name}.swiftmodule", file,
        )  # fmt: skip
        return extract(name, folder)


def verdict(claims):
    """Prints the claims that do not hold, and the count. Returns the exit status."""
    broken = [name for name, holds in claims.items() if not holds]
    for name in broken:
        print(f"FAIL  {name}")
    print(f"{len(claims) - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0
