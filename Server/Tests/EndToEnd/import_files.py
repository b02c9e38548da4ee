# This source file is part of the Optimist open source project, under the MIT licence.
"""The files that `optimist import` reads, their faults, and the files that `optimist views` replaces.

It starts servers with $OPTIMIST.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from claims import Claims  # noqa: E402
from import_sites import places  # noqa: E402
from program import run  # noqa: E402

claims = Claims()


def imported(site, name, content, *options):
    """Imports lists from a file with these bytes. Returns the status, the lines of the report, and the error."""
    file = site.folder / name
    file.write_bytes(content)
    status, out, err = run("import", file, "--type", "list", "--account-from", "email", *options, *site.place)
    return status, out.splitlines(), err


def titles(site, account):
    return sorted(row["title"] for row in site.rows("list", account).values())


def kinds(said):
    """The lines and codes of a report's refusals."""
    return [":".join(line.split(":")[:2]) for line in said[:-1]]


@claims
def encodings(sites):
    """J4 a line that is not UTF-8 is refused, and a mark before UTF-8 is skipped."""
    for site in sites:
        email, account = site.person("encodings")
        texts = ["Café", "Äpfel", "Tea"]
        for name, row, head in [
                ("a.csv", "{},{}\n", '"account",title\n'), ("a.jsonl", '{{"account":"{}","title":"{}"}}\n', "")]:
            lines = [row.format(email, f"{text} {name}") for text in texts]
            content = b"\xef\xbb\xbf" + (head + lines[0]).encode() + lines[1].encode("latin-1") + lines[2].encode()
            bad = f"line {3 if head else 2}: notUTF8: "
            for options in (["--dry-run"], []):
                status, said, _ = imported(site, name, content, *options)
                assert status == 1 and len(said) == 2 and said[0].startswith(bad) and "UTF-8" in said[0], said
                assert said[1].startswith("2 rows") and said[1].endswith("1 refused."), said
        assert titles(site, account) == ["Café a.csv", "Café a.jsonl", "Tea a.csv", "Tea a.jsonl"]
        status, said, err = imported(site, "b.csv", f"account,title\n{email},x\n".encode("utf-16"))
        assert (status, said) == (1, []) and "line 1: The line is not UTF-8" in err, (said, err)


@claims
def records(sites):
    """J4 a malformed CSV row is refused alone, and the lines before a quote without end are stored."""
    for site in sites:
        email, account = site.person("records")
        good = f'account,title\n{email},5" pipe\n{email}\n{email},a,b\n{email},"q"r\n{email},"p\nq",\n{email},end\n'
        for options in (["--dry-run"], []):
            status, said, _ = imported(site, "t.csv", good.encode(), *options)
            assert status == 1, said
            assert kinds(said) == [f"line {line}: notCSV" for line in (3, 4, 5, 6)], said
            assert "The number of values is 1, and the first line has 2 names." in said[0], said
            assert "It ends in line 7" in said[3], said
            assert said[-1].startswith("2 rows") and said[-1].endswith("4 refused."), said
        assert titles(site, account) == ['5" pipe', "end"]
        unended = f'account,title\n{email},first\n{email},"open\n{email},lost\n'
        status, said, err = imported(site, "open.csv", unended.encode())
        assert status == 1 and said == ["1 rows written, 0 unchanged, 0 refused."], (said, err)
        assert "line 3: A quote in this row does not end." in err and "lines before it are not affected" in err, err
        assert titles(site, account) == ['5" pipe', "end", "first"]


@claims
def unreadable(sites):
    """J4 a file without the column of accounts, or that is a directory, is refused with advice."""
    site = sites[0]
    (site.folder / "folder.csv").mkdir()
    status, _, err = run("import", site.folder / "folder.csv", "--type", "list", "--account-from", "email", *site.place)
    assert status == 1 and "folder.csv cannot be read: Is a directory." in err, err
    for content, advice in [
            (b"account;title\na;b\n", "Separate values by commas"), (b"owner,title\na,b\n", "--account-column")]:
        status, said, err = imported(site, "columns.csv", content)
        assert (status, said) == (1, []), (said, err)
        assert 'line 1: The column "account" is missing.' in err and advice in err, err


@claims
def repeated(sites):
    """J2 if a file has an id twice, the first line counts, also in a newer file."""
    for site in sites:
        email, account = site.person("repeated")
        first, second, third = (
            f'{{"account":"{email}","id":"x","title":"{title}"}}\n' for title in ("b", "a", "c"))
        # The last line is in a second batch.
        content = (first + second + "[]\n" * 32_000 + third).encode()
        for time, written in [("2026-01-01T00:00:00Z", 1), ("2026-01-01T00:00:00Z", 0), ("2026-01-02T00:00:00Z", 0)]:
            status, said, _ = imported(site, "twice.jsonl", content, "--as-of", time)
            found = [kind for kind in kinds(said) if not kind.endswith("notJSON")]
            assert status == 1 and found == ["line 2: duplicate", "line 32003: duplicate"], found
            assert said[-1] == f"{written} rows written, {1 - written} unchanged, 32002 refused.", said[-1]
            assert titles(site, account) == ["b"]


@claims
def replaced(sites):
    """J5 `optimist views` replaces only its own report, and not the server's files."""
    site = sites[0]
    data, report, other = Path(site.place[1]), site.folder / "report.sqlite", site.folder / "letter.txt"
    other.write_text("Dear reader")
    for _ in range(2):
        site.command("views", "--to", report)
    before = {name: (data / name).stat().st_ino for name in ("optimist.sqlite", "keys.json")}
    for file, options, problem in [
            (data / "optimist.sqlite", [], "is in the data directory"),
            (data / "keys.json", [], "is in the data directory"),
            (other, [], "is not a report"), (site.folder, [], "is not a report"),
            (report, ["--into", "elsewhere"], "--into is for a PostgreSQL database")]:
        status, out, err = run("views", "--to", file, *options, *site.place)
        assert status != 0 and out == "" and problem in err, (file, out, err)
    assert before == {name: (data / name).stat().st_ino for name in before} and other.read_text() == "Dear reader"
    assert site.rows("list", site.person("replaced")[1]) == {}, "the server still works"


if __name__ == "__main__":
    with places() as found:
        claims.run(found)
