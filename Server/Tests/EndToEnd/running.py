# This source file is part of the Optimist open source project, under the MIT licence.
"""The commands of Documentation/RunningTheServer.md, as they are there: from nothing to a backup restored elsewhere."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims import Claims  # noqa: E402
from phones import free_port  # noqa: E402
from program import OPTIMIST, PATIENCE  # noqa: E402

claims = Claims()
PAGE = Path(__file__).parents[3] / "Documentation/RunningTheServer.md"


@claims
def page(folder):
    """O6 O8 O9 the page's commands lead from nothing to a server on a restored backup, and to an account that is gone."""
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL))
    for port in "8090", "8091":
        assert port in commands
        commands = commands.replace(port, str(free_port()))
    (folder / "bin").mkdir()
    (folder / "bin" / "optimist").symlink_to(Path(OPTIMIST).resolve())
    script = f"set -e; trap 'kill $server 2>/dev/null || true' EXIT\n{commands}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=2 * PATIENCE,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"})
    assert done.returncode == 0, (done.stdout, done.stderr)
    for words in ("ann@example.org  ", "A shell", "It was checked", "is sound", "Start the server on it", '"accounts"', "kept until"):
        assert words in done.stdout, (words, done.stdout)
    lines = [json.loads(line) for line in (folder / "ann.jsonl").read_text().splitlines()]
    assert lines[0]["account"]["email"] == "ann@example.org" and lines[-1]["end"] == {"sessions": 1, "rows": 0}, lines
    assert not any(b"ann@example.org" in file.read_bytes() for file in (folder / "machine-b").iterdir() if file.is_file())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        claims.run(Path(folder))
