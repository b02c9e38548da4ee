# This source file is part of the Optimist open source project, under the MIT licence.
"""The public symbols of our libraries, from the compiler's symbol graphs.

Scripts/doc-coverage and Scripts/interface make the graphs of the modules that `swift build` left: that takes seconds."""

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
# The server's build has every library, and those of the client with their trait on.
BUILD = SERVER / ".build"


class Symbol:
    """A public declaration of a library."""

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
        # It does what a protocol asks for, and is documented there.
        self.is_witness = any("sourceOrigin" in relation for relation in relations)
        self.is_requirement = "requirementOf" in kinds

    def __str__(self):
        return f"{self.file}:{self.line}: {self.path}"


def conditions(constraints):
    """The end of a declaration that holds only for some types."""
    signs = {"conformance": ":", "superclass": ":", "sameType": "=="}
    texts = [f"{one['lhs']} {signs.get(one['kind'], one['kind'])} {one['rhs']}".replace(" :", ":") for one in constraints]
    return f" where {', '.join(sorted(texts))}" if texts else ""


class Library:
    """The public symbols of a module, and what its types conform to, as `Type: Protocol`."""

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
            # What the compiler writes, such as `init(rawValue:)` of an enum, has no place.
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
    """What a command prints. Ends the script if it fails."""
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
    """The library of a built module.

    - modules: the folder of its `.swiftmodule`.
    - flags: what the compiler needs to find the modules that it imports.
    """
    with tempfile.TemporaryDirectory() as folder:
        run_extract(name, modules, folder, *flags, "-skip-synthesized-members")
        return Library(name, [json.loads(file.read_text()) for file in sorted(Path(folder).iterdir())])


def run_extract(name, modules, folder, *flags):
    """Writes the graphs of a built module into a folder: its own, and one for each module that it extends."""
    run(
        "swift", "symbolgraph-extract", "-module-name", name, "-I", modules, *flags, *target_flags(),
        "-minimum-access-level", "public", "-output-dir", folder,
    )  # fmt: skip


@cache
def build_flags():
    """Where the compiler finds the C modules that the built modules import."""
    manifest = BUILD / "debug.yaml"
    text = manifest.read_text() if manifest.exists() else ""
    # The maps of the packages' C modules, and where the headers of the system's libraries are.
    flags = {f"-fmodule-map-file={map}" for map in re.findall(r'-fmodule-map-file=([^"]+)', text)}
    flags |= set(re.findall(r'"(-I[^"]*/include/[^"]+)"', text))
    return [part for flag in sorted(flags) for part in ("-Xcc", flag)]


def library_names(package):
    """The libraries that a package offers."""
    products = json.loads(run("swift", "package", "--ignore-lock", "dump-package", folder=package))["products"]
    return [target for product in products if "library" in product["type"] for target in product["targets"]]


def libraries(names=()):
    """Each library that the two packages offer, or those of the names."""
    for package in (CLIENT, SERVER):
        for name in library_names(package):
            if not names or name in names:
                yield extract(name, built(name), build_flags())


def write_graphs(name, folder):
    """Writes the graphs of one of our libraries into a folder, with the members that it gets from protocols."""
    run_extract(name, built(name), folder, *build_flags())


def built(name):
    """The folder with a library's module. Ends the script if there is none."""
    modules = BUILD / "debug/Modules"
    if not (modules / f"{name}.swiftmodule").exists():
        sys.exit(f"{name} is not built: `swift build --package-path Server --build-tests` comes first.")
    return modules


def fixture(source, name="Fixture"):
    """The library of a few lines of Swift, for the scripts' own tests."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.swift"
        file.write_text(source)
        run(
            "swiftc", "-emit-module", "-parse-as-library", "-module-name", name, "-swift-version", "6", *target_flags(),
            "-emit-module-path", Path(folder) / f"{name}.swiftmodule", file,
        )  # fmt: skip
        return extract(name, folder)


def verdict(claims):
    """Prints which of some claims, by their names, do not hold, and the count. Returns the exit status."""
    broken = [name for name, holds in claims.items() if not holds]
    for name in broken:
        print(f"FAIL  {name}")
    print(f"{len(claims) - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0
