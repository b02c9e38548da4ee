# This source file is part of the Optimist open source project, under the MIT licence.
"""What the export scripts share: rows as lines of JSON, in the forms that `optimist import` reads."""

import base64
import json
from datetime import datetime, timezone


def utc(time):
    """A date column: RFC 3339 in UTC. A time without an offset is in UTC."""
    if isinstance(time, str):
        time = time.strip().replace(" ", "T").replace("Z", "+00:00")
        # PostgreSQL writes +00, and Firestore nine digits of a second. Python 3.9 reads neither.
        if time[-3] in "+-":
            time += ":00"
        clock, offset = (time[:-6], time[-6:]) if time[-6] in "+-" else (time, "+00:00")
        whole, _, part = clock.partition(".")
        time = datetime.fromisoformat(f"{whole}.{(part + '000000')[:6]}{offset}")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def data(content):
    """A data column: base64url without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def line(row):
    """A row without the columns that have no value."""
    return json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
