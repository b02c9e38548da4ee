# This source file is part of the Optimist open source project, under the MIT licence.
"""Finds uses of APIs that the oldest supported systems lack, which a compiler on Linux does not report."""

import re

# APIs of iOS 18 and macOS 15. A file may use them under a matching `@available`.
LATER = {
    r"\bTaskExecutor\b|executorPreference:|\btaskExecutor:": "a task executor",
    r"\.next\(isolation:": "another sequence's `next(isolation:)`",
    r"\bString\(validating:": "`String(validating:)`",
    r"\bU?Int128\b": "a 128-bit integer",
    r"\bimport Synchronization\b": "Synchronization",
}
IS_MARKED = re.compile(r"@available\(macOS 15, iOS 18,")
# This file does not import Synchronization on Apple's systems.
EXCEPT = "Sources/OptimistCore/Mutex.swift"


def problems(sources):
    """Yields the uses of later APIs in the client's sources that no `@available` marks."""
    for name, text in sorted(sources.items()):
        if not name.startswith("Sources/") or name == EXCEPT or IS_MARKED.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            code = line.split("//")[0]
            for pattern, what in LATER.items():
                if re.search(pattern, code):
                    yield f"{name}:{number} uses {what}, which iOS 17 and macOS 14 lack. Add `@available(macOS 15, iOS 18, *)`, or avoid it."
