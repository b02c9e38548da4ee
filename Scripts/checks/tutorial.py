# This source file is part of the Optimist open source project, under the MIT licence.
"""Reads the code of the tutorial, step by step. Run as a program, it prints a line with the files of each step."""

import re
from pathlib import Path

CATALOG = Path("Sources/Optimist/Optimist.docc")


def steps(text):
    """Yields the app after each step, as a dictionary from file names in the app to files in the catalog."""
    app = {}
    for name, file in re.findall(r'@Code\(name: "([^"]+)", file: "([^"]+)"\)', text):
        app = app | {name: file}
        yield app


def differences(text, tutorial_code, example):
    """The differences between the app after the last step and an example, as sentences.

    `tutorial_code` and `example` map the files of the catalog and the example to their texts.
    """
    last = list(steps(text))[-1]
    for name in sorted(last.keys() | example.keys()):
        if name not in last or name not in example:
            yield f"{name} is only in the {'tutorial' if name in last else 'example'}."
        elif tutorial_code[last[name]] != example[name]:
            yield f"{last[name]} differs from the example's {name}."
    for file in sorted(tutorial_code.keys() - {file for app in steps(text) for file in app.values()}):
        yield f"no step shows {file}."


if __name__ == "__main__":
    for app in steps((CATALOG / "Tutorials" / "Planner.tutorial").read_text()):
        print(" ".join(str(CATALOG / "Resources" / file) for file in app.values()))
