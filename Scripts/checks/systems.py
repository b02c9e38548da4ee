# This source file is part of the Optimist open source project, under the MIT licence.
"""What the oldest systems that the package names do not have: compilers on Linux do not look."""

import re

# Needs iOS 18 and macOS 15. A file may use it below an `@available` that says so.
LATER = {
    r"\bTaskExecutor\b|executorPreference:|\btaskExecutor:": "a task executor",
    r"\.next\(isolation:": "`next(isolation:)` of another sequence",
    r"\bString\(validating:": "`String(validating:)`",
    r"\bU?Int128\b": "a number of 128 bits",
    r"\bimport Synchronization\b": "Synchronization",
}
IS_MARKED = re.compile(r"@available\(macOS 15, iOS 18,")
# On Apple's systems this one is not compiled with Synchronization.
EXCEPT = "Sources/OptimistCore/Mutex.swift"


def problems(sources):
    """Yields what the client's sources use of later systems, and do not mark."""
    for name, text in sorted(sources.items()):
        if not name.startswith("Sources/") or name == EXCEPT or IS_MARKED.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            code = line.split("//")[0]
            for pattern, what in LATER.items():
                if re.search(pattern, code):
                    yield f"{name}:{number} uses {what}, which iOS 17 and macOS 14 lack: mark it, or use what they have."
