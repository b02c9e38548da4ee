# This source file is part of the Optimist open source project, under the MIT licence.
"""What the export scripts share: rows as lines of JSON, in the forms that `optimist import` reads."""

import base64
import json
import re
from datetime import datetime, timezone


# PostgreSQL writes the offset +00, ISO 8601 also -0330, and Firestore nine digits of a second.
TIME = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?)? ?(?:Z|([+-]\d\d)(?::?(\d\d))?)?", re.I)


def utc(time):
    """A date column: RFC 3339 in UTC. A time without an offset is in UTC, and a date without a time is its midnight."""
    if isinstance(time, str):
        found = TIME.fullmatch(time.strip())
        if not found:
            raise ValueError(f"{time!r} is not a date with a year of four digits.")
        day, clock, part, hours, minutes = found.groups()
        # Python 3.9 reads only this form.
        clock = f"{(clock or '00:00')}:00"[:8]
        time = datetime.fromisoformat(f"{day}T{clock}.{((part or '') + '000000')[:6]}{hours or '+00'}:{minutes or '00'}")
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def data(content):
    """A data column: base64url without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def line(row):
    """A row without the columns that have no value."""
    return json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
