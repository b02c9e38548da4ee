#!/usr/bin/env python3
# This source file is part of the Optimist open source project, under the MIT licence.
"""Tests of Scripts/rules, Scripts/tidy and Scripts/test on small texts."""

import contextlib
import io
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "Server" / "Tests")]
from checks import documents, found, heart, prose, public_types, rules, sizes, swift_text, systems  # noqa: E402
from checks import turns, tutorial, voice  # noqa: E402
from claims import Claims  # noqa: E402
from testing.run import Run  # noqa: E402
from testing.stages import Stage  # noqa: E402

claims = Claims()
PROMISES = "| | rule |\n|---|---|\n| W1 | A write is durable. |\n| Q1 | Reads are local. *No test: see its code.* |\n"
SWIFT = "    @Test(arguments: [1, 2])\n    func `W1 a write is durable`(value: Int) {}\n    @Test func plain() {}\n"
PYTHON = '@claims\n@slow\ndef survives(folder):\n    """W1 a kill loses\n    nothing."""\n\n\ndef helper():\n    """No."""\n'


def check(tests, promises=PROMISES, texts=None):
    """The problems with these tests."""
    return rules.problems(rules.read_rules(promises), tests, texts or {})


@claims
def finds_tests():
    """Swift and Python tests are found, with their rules and the names that documents may use."""
    swift, python = found.tests_in("A.swift", SWIFT), found.tests_in("a.py", PYTHON)
    assert [test.claim for test in swift] == ["W1 a write is durable", "plain"], swift
    assert [test.rules for test in swift] == [["W1"], []], swift
    assert [(test.claim, test.function) for test in python] == [("W1 a kill loses nothing.", "survives")], python
    assert found.Test("a.py", "T9, T10: of two", "of_two").rules == ["T9", "T10"]
    assert found.Test("a.py", "M1 of two", "of_two").names == {"M1 of two", "of two"}


@claims
def each_rule_has_a_test():
    """A rule needs a test or a reason in italics, and the written file lists its tests."""
    tests = found.tests_in("A.swift", SWIFT)
    assert check(tests) == [], check(tests)
    assert "no test proves W1" in check([])[0]
    assert "no test proves Q1" in check(tests, PROMISES.replace("*", ""))[0]
    assert "- W1 a write is durable · `A.swift`" in rules.written(rules.read_rules(PROMISES), tests)


@claims
def rules_are_short():
    """A rule may have two sentences; a third is reported. Notes in italics do not count."""
    tests = found.tests_in("A.swift", SWIFT)
    two = "It takes 0.5 s (M4). `a. B` may, e.g. In a [list](B. C.md), stay (M4)."
    assert check(tests, PROMISES.replace("A write is durable.", f"{two} *[A note](#b). Another.*")) == [], rules.sentences(two)
    for third in ("`Code` too.", "(So may this.)", "60 s. *A note.*", "And without a full stop"):
        three = check(tests, PROMISES.replace("A write is durable.", f"{two} {third}"))
        assert len(three) == 1 and "W1 has 3 sentences" in three[0], (third, three)


@claims
def each_number_is_a_rule():
    """A rule number in a test's name, a comment or a document must exist."""
    tests = found.tests_in("A.swift", SWIFT)
    assert "A.swift: W2 is not a rule" in check(tests + [found.Test("A.swift", "W1 W2 a write")])[0]
    for file, text in {"B.swift": "let a = 1  // See S9.", "b.py": "a = 1  # See S9."}.items():
        assert f"{file}: S9 is not a rule" in check(tests, texts={file: rules.comments(file, text)})[0]
    assert check(tests, texts={"B.swift": rules.comments("B.swift", 'let S9 = "\\u{E9}"  // gRFC A6, W1')}) == []



@claims
def reads_swift():
    """Comments and strings, including raw ones and ones with interpolations, are separated from code."""
    text = 'let a = "{ \\(b("}")) // no" // yes {\nlet c = #"\\"{"# /* { /* { */ */ + """\n{ " }\n"""\nfunc d() {}\n'
    code, comments = swift_text.split(text)
    assert [comment for _, comment in comments] == ["// yes {", "/* { /* { */ */"], comments
    assert code.count("{") == 1 and code.count("\n") == text.count("\n") and len(code) == len(text), code


@claims
def finds_what_older_systems_lack():
    """An API that iOS 17 lacks is reported with its line, unless the file marks it. Comments and tests do not count."""
    text = "let a = 1  // TaskExecutor\nfinal class B: TaskExecutor {}\n"
    found = list(systems.problems({"Sources/A/B.swift": text, "Tests/A/B.swift": text}))
    assert len(found) == 1 and found[0].startswith("Sources/A/B.swift:2 uses a task executor"), found
    marked = text.replace("final", "@available(macOS 15, iOS 18, *)\nfinal")
    assert not list(systems.problems({"Sources/A/B.swift": marked}))


@claims
def finds_long_functions():
    """A Swift or Python function may have 60 lines and not 61, and a file 400 and not 401."""
    def swift(lines, head="func long(a: Int = { 1 }()) -> Int"):
        return f"protocol P {{\n    func short()\n    init()\n}}\n{head} {{\n" + "    a()\n" * (lines - 2) + "}\n"

    def python(lines):
        return "def long():\n" + "    a()\n" * (lines - 1) + "\n\ndef short():\n    pass\n"

    assert list(sizes.problems({"A.swift": swift(60), "a.py": python(60), "B.swift": "a\n" * 400})) == []
    for file, text in {"A.swift": swift(61), "a.py": python(61)}.items():
        (problem,) = sizes.problems({file: text})
        assert f"{file}:{5 if file == 'A.swift' else 1}: long has 61 lines" in problem, problem
    for head in ("public init<T>(t: T) where T: P", "var long: [Int]", "subscript(a: Int) -> Int", "deinit"):
        assert len(list(sizes.problems({"A.swift": swift(61, head)}))) == 1, head
    for file in ("B.swift", "b.js", "b.css", "b.c"):
        assert "401 lines" in list(sizes.problems({file: "a\n" * 401}))[0]


@claims
def finds_long_names():
    """A test's name may have 20 words and not 21, without the numbers of its rules."""
    def problems(numbers, words):
        return list(sizes.name_problems([found.Test("A.swift", f"{numbers}{'word ' * words}".strip())]))

    for numbers in ("", "W1 ", "W1 L2: ", "T9, T10: "):
        assert problems(numbers, 20) == [], numbers
        assert "21 words" in problems(numbers, 21)[0], numbers


@claims
def finds_types_of_one_name():
    """Two modules with a public type of the same name are found. Nested and internal types may share a name."""
    one = "public struct A {\n    public enum Kind {}\n    class func f() {}\n}\nstruct B {}\n"
    one += "extension D { public struct C {} }\n"
    other = "@MainActor\npublic final class X {\n    public enum Kind {}\n}\npublic struct B {}\npublic struct C {}\n"
    files = {"Sources/One/A.swift": one, "Server/Sources/Two/X.swift": other}
    assert list(public_types.public_types(one)) == ["A", "A.Kind", "D.C"], list(public_types.public_types(one))
    assert list(public_types.problems(files)) == []
    (problem,) = public_types.problems(files | {"Sources/Three/B.swift": "public typealias B = Int\n"})
    assert "public type B" in problem, problem
    assert list(public_types.problems({"Sources/One/A.swift": one, "Sources/One/B.swift": one})) == []


@claims
def checks_the_glossary():
    """The glossary has fewer than 30 words, and the code uses each in a name."""
    def page(*words):
        rows = "".join(f"| {word} | x |\n" for word in words)
        return f"## Words\n| word | meaning |\n|---|---|\n{rows}\n## After\n| no | x |\n"

    code = {"A.swift": "// echo\nstruct PageRow { let inFlight = 1 }\n"}
    assert documents.glossary(page("page, row", "in flight")) == ["page", "row", "in flight"]
    assert list(documents.glossary_problems(page("page, row", "in flight"), code)) == []
    assert "“echo”" in list(documents.glossary_problems(page("page", "echo"), code))[0]
    assert "30 words" in list(documents.glossary_problems(page(*["page"] * 30), code))[0]
    assert "0 words" in list(documents.glossary_problems("", code))[0]


@claims
def checks_table_cells():
    """A table cell may have 800 characters and not 801. Other text may be longer."""
    assert list(documents.table_problems({"a.md": f"| a | {'x' * 798} |\n{'x' * 900}\n"})) == []
    assert "a.md:1: a table cell has 801" in list(documents.table_problems({"a.md": f"| a | {'x' * 799} |\n"}))[0]


@claims
def compares_the_tutorial():
    """The tutorial's last step is compared with an example, file by file, and a file that no step shows is found."""
    page = '@Code(name: "A.swift", file: "A-1.swift")\n@Code(name: "A.swift", file: "A-2.swift")\n'
    code = {"A-1.swift": "a", "A-2.swift": "ab"}
    assert list(tutorial.steps(page)) == [{"A.swift": "A-1.swift"}, {"A.swift": "A-2.swift"}]
    assert list(tutorial.differences(page, code, {"A.swift": "ab"})) == []
    assert list(tutorial.differences(page, code, {"A.swift": "a"})) == ["A-2.swift differs from the example's A.swift."]
    assert list(tutorial.differences(page, code | {"B.swift": ""}, {"A.swift": "ab", "C.swift": ""})) == [
        "C.swift is only in the example.", "no step shows B.swift."]


@claims
def finds_turns():
    """Each turn is found in its example, and no turn in plain sentences."""
    for turn in turns.TURNS:
        assert turn in [found for found, _ in turns.turns_in(turn.example)], turn
    for plain in (
            "The server refuses the row. What does it contain? Of course it is sent again, in the order in which rows arrive.",
            "There is no such row, so nothing has been written. Nothing was changed. You cannot tell which it was.",
            "One of them is no longer needed, and there are no more than two of these. It stands for any more data.",
            "The value comes from the cache. If there is nothing to do, this does nothing. All of these are sent together."):
        assert turns.turns_in(plain) == [], turns.turns_in(plain)


@claims
def reads_prose():
    """Prose is the text of comments, docstrings and documents without code. A sentence may span several lines."""
    swift = "/// A row of\n/// which `whoever` is.\n///\n/// - Returns: Of two, one.\nlet a = \"anew\"  // Sent anew.\n"
    assert (read := prose.prose("A.swift", swift)) == ["A row of which x is.", "Of two, one.", "Sent anew."], read
    python = '#!/usr/bin/env python3\n"""Reads\nanew."""\na = "anew"  # noqa: E402\n\n# Of two,\n# one.\n'
    assert (read := prose.prose("a.py", python)) == ["Of two, one.", "Reads anew."], read
    page = "# Of a page\nIt is **read\nanew**.\n```\nanew\n```\n| a | Of two |\n|---|---|\n"
    assert (read := prose.prose("a.md", page)) == ["Of a page", "It is read anew.", "a", "Of two"], read


@claims
def reads_errors():
    """The texts of errors are read from calls of error types and from the types themselves, but not from other code."""
    text = """
    struct Fault: Error { var text: String { "The \\(name("a")) is full." } }
    enum Other: Sendable { case one; var text: String { "This is no error." } }
    func f() { throw Fault(.full, "Two parts " + "of a text.", [#"A \\ in it."#], "code"); g("No error at all.") }
    func h() { throw Fault.later(\"\"\"
        Three lines \\
        of it.
        \"\"\") }
    """
    types = prose.error_types({"A.swift": text})
    assert types == {"Fault", "ValidationError"}, types
    assert (read := prose.error_texts(text, types)) == [
        "The x is full.", "Two parts of a text.", "A \\ in it.", "Three lines of it."], read


@claims
def counts_each_part():
    """Folders, names of tests, texts of errors and subjects of commits are counted apart."""
    texts = {"Sources/A/B/a.swift": '// Sent anew.\nstruct Fault: Error { let text = "It is sent anew." }\n'}
    tests = [found.Test("Tests/a.swift", "W1 L2: nothing waits for the server"), found.Test("Tests/a.py", "W1 anew")]
    counts = voice.count(voice.parts(texts, tests, {"1a2b3c": "Send it anew, and not once"}))
    assert counts == {"Sources/A/B": voice.Count(2, 1), voice.ERRORS: voice.Count(4, 1), voice.NAMES: voice.Count(5, 1),
                      voice.SUBJECTS: voice.Count(6, 1)}, counts
    assert voice.total(counts) == voice.Count(17, 4)
    assert found.subjects("HEAD") == {} and found.subjects("0" * 40) is None


@claims
def lowers_and_never_raises():
    """A folder may have one turn more than was noted, but not two; the noted numbers follow down and never up."""
    def counts(turns, words=100, name="Sources/A"):
        return {"Sources/Large": voice.Count(10_000, 1), name: voice.Count(words, turns)}

    noted = counts(2)
    for turns, words in ((1, 100), (2, 100), (3, 100), (2, 50), (4, 200)):
        assert list(voice.problems(counts(turns, words), noted)) == [], (turns, words)
    (problem,) = voice.problems(counts(4), noted)
    assert "Sources/A: 4 turns in 100 words; at most 3. Scripts/tidy --turns 'Sources/A' shows them" in problem, problem
    (problem,) = voice.problems(counts(0), noted)
    assert problem == "Sources/A: 0 turns, fewer than 2. Scripts/tidy --lower notes that.", problem
    assert voice.lowered(counts(1), noted) == counts(1) and voice.lowered(counts(3), noted) == noted


@claims
def limits_what_is_new():
    """A new folder may have 6 turns in 1,000 words and one more, and all parts together 4. Commits are never noted."""
    large = {"Sources/Large": voice.Count(10_000, 1)}
    few, many = ({"Sources/B": voice.Count(1000, turns)} for turns in (7, 8))
    assert list(voice.problems(large | few, large)) == [] and voice.lowered(large | few, large) == large | few
    (problem,) = voice.problems(large | many, large)
    assert "at most 7" in problem and voice.lowered(large | many, large) == large, problem
    assert list(voice.problems(few, {})) == ["all parts: 7 turns in 1000 words; at most 4."]
    assert list(voice.problems(few, few)) == [] and voice.lowered({voice.SUBJECTS: voice.Count(9)}, {}) == {}


HALVES = """
struct RemoteRow {
    var generation = 0
    private(set) var seq: Int64 = 0
    var clocks = Clocks()
    var isAlive: Bool { generation == 1 }
    mutating func take(_ seq: Int64) { self.seq = seq }
}
struct LocalEdit { var dirty = 0 }
struct RowEntry { var remote = RemoteRow(); var local: LocalEdit?; var generation = 0 }
final class Engine { var remote: Remote; init(_ it: Remote) { remote = it } }
enum RowChange { case none; case put(Values); case set(Values); case delete }
struct Rendering { var change = RowChange.none }
struct Sent { enum Kind { case delete, update }; var kind: Kind }
extension Database { func attempt(deferring: Bool, _ work: () -> Void) {} }
"""


def measured(code, folder="Pull"):
    """Counts two files: one that declares the halves of a row, and one with some lines of Swift."""
    file = f"{heart.CLIENT}{folder}/A.swift"
    return heart.count({f"{heart.CLIENT}Row/Halves.swift": HALVES, file: f"extension RowEntry {{\n{code}\n}}\n"}, {})


def lines_of(code, measure):
    """The numbers of the lines of some Swift code that a measure counts, from 1."""
    return [hit.line - 1 for hit in measured(code).hits[measure] if hit.file.endswith("/A.swift")]


@claims
def finds_who_changes_a_half():
    """An assignment to a field of a half is found in every form. Reads, comparisons, comments and strings do not count."""
    planted = (
        "mutating func f() { remote.seq = 1 }", "func f(_ a: inout RowEntry) { a.remote\n    .seq\n    += 1 }",
        "mutating func f() { (generation, remote.generation) = (1, 1) }", "mutating func f() { self.remote.seq |= 1 }",
        'func f(a: inout A) { a.rows[b("]")].remote.clocks["x"]?.at = nil }', "func f() { swap(&a.remote.seq, &b) }",
        "func f(_ a: A) { var word = a.entry.remote; word.seq = 1 }", "func f() { a.remote.clocks.removeAll() }",
        "func f() { for a in b { var word = RemoteRow()\nword.seq = 1 } }", "func f(_ it: inout RemoteRow) { it.seq -= 1 }",
        "}\nextension RemoteRow { mutating func f() { seq = 1 }")
    for code in planted:
        assert len(lines_of(code, "word")) == 1, (code, lines_of(code, "word"))
        assert any("at most 0" in text for text in heart.problems(measured(code), {"word": 0})), code
    innocent = (
        "// remote.seq = 1", "/* remote.seq = 1 */", 'let a = "remote.seq = 1"', "func f() { let seq = remote.seq }",
        "mutating func f() { generation = remote.generation }", "func f() { if remote.seq == 1, remote.seq >= 2 {} }",
        "func f(_ a: B) { var word = a.other; word.seq = 1 }", "func f() { remote.clocks.map { $0 } }",
        "}\nextension RemoteRow { func f() { var seq = 1\nseq = 2 }", "func f() { g(seq: remote.seq, at: 1) }")
    for code in innocent:
        assert lines_of(code, "word") == [], code
    edits = "func f() { if var edit = entry.local { edit.dirty = 1 }\nlocal?.dirty &= ~1\nlocal!.dirty = local?.dirty ?? 0 }"
    assert lines_of(edits, "edit") == [1, 2, 3] and lines_of(edits, "word") == [], lines_of(edits, "edit")
    moves = "mutating func f() { remote.take(1)\nqueue.take(1)\nlocal = nil\nentry.remote = RemoteRow()\n}"
    assert lines_of(moves, "word-moves") == [1] and lines_of(moves, "word-wholes") == [4], lines_of(moves, "word-wholes")
    assert lines_of(moves, "edit-wholes") == [3] and lines_of(moves, "word") == []


@claims
def finds_who_builds_a_change():
    """A function that builds the change of a row counts once. Patterns, comparisons and other enums do not count."""
    built = (
        "func f() { table.make(.delete, at: id) }", "func f() -> Rendering { Rendering(change: is ? .put(a) : .none) }",
        "func f() -> (kind: Sent.Kind, change: RowChange)? { return (.delete, .delete) }",
        "func f() { a.change =\n    is ? b\n    : .set(c) }", "func f() -> RowChange {\n    .delete\n}",
        "func f() { switch a {\ncase .b:\n    c.change = .delete\ndefault: break } }", "let a = RowChange.put(b)")
    for code in built:
        assert measured(code).numbers["changes"] == 1 and len(lines_of(code, "changes")) == 1, code
    others = (
        "func f() { if case .put(let a) = change {} }", "func f() { switch a { case .none, .delete: b() } }",
        "func f() { if a.change == .delete, .delete != b {} }", "func f() { switch (a, b) { case (.update, .set): c() } }",
        "func f() { inbox.put(.a); a\n    .set(b) }", "func f() { a.kind = .delete }", "// .delete", 'let a = ".put(b)"',
        "func f() { let kind: Sent.Kind = is ? .delete : .update }", "func f() -> Sent.Kind { return .delete }")
    for code in others:
        assert measured(code).numbers["changes"] == 0, (code, lines_of(code, "changes"))
    assert measured("func f() { a.change = .delete\na.change = .set(b) }").numbers["changes"] == 1


@claims
def counts_the_doors_and_the_rooms():
    """Files that put rows into tables count in any folder, and folders that use each other's types are found."""
    plain = measured("").numbers
    for code in ("func f() { db.attempt(deferring: true) { b() } }", "func f() { try Vacancy(of: rows, in: a) }"):
        assert measured(code).hits["fit"] == [f"{heart.CLIENT}Pull/A.swift"], code
    for code in ("func f() { a.put(\n    b(c), at: id) }", "}\nextension Fitting {", "func f() { a.table.delete(b) }"):
        assert measured(code, "Else").numbers["appliers"] == plain["appliers"] + code.count("\n") + 3, code
    for code in ("func f() { a.put(b) }", "// a.set(b, at: c)", "func f() { Fitting() }", "func f() { a.delete(b) }"):
        assert measured(code, "Else").numbers["appliers"] == plain["appliers"], code
    assert plain["heart"] == HALVES.count("\n") + 3 and plain["pairs"] == 0, plain
    both = heart.count({f"{heart.CLIENT}{name}.swift": text for name, text in {
        "A/A": "struct A { let b: B; struct Inner {} }\nprivate struct C {}\n", "A/B": "struct D { let b: B; let c: B }\n",
        "B/B": "struct B { let a: A; let inner: Inner; let c: C }\n"}.items()}, {})
    assert both.hits["pairs"] == ["A 2, B 1"] and both.numbers["back"] == 1, both.hits
    interface = {"a.txt": "# A comment.\nA.b: let b: Int\nA: conforms to Sendable\n"}
    assert heart.count({"Tests/a.swift": "\n", "Sources/a.swift": "\n\n"}, interface).numbers["symbols"] == 1


@claims
def ceilings_go_down_only():
    """A number above its ceiling and a missing name are reported. A ceiling is never raised."""
    now = measured("mutating func f() { remote.seq = 1 }")
    numbers = heart.lowered(now, {})
    assert numbers["word"] == 1 and numbers["heart"] > now.numbers["heart"] and "word-moves" not in numbers, numbers
    names = list(heart.problems(now, numbers))
    assert any("looks for Vacancy" in text for text in names) and all("looks for" in text for text in names), names
    (problem,) = set(heart.problems(now, numbers | {"word": 0})) - set(names)
    assert problem == ("assignments to fields of RemoteRow outside its file: 1; at most 0. "
                       "Scripts/heart --where word shows each."), problem
    assert heart.lowered(now, numbers | {"word": 0})["word"] == 0 and heart.lowered(now, numbers | {"word": 9})["word"] == 1
    assert "has no ceiling for word" in " ".join(heart.problems(now, {}))


@claims
def a_late_stage_is_skipped():
    """A stage that would begin too late is skipped and counted, as are the stages that need it."""
    late = [Stage("late", ["false"], latest=-1), Stage("trial", ["false"], needs=["late"]), Stage("other", ["true"])]
    run = Run(late)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        status = run.to_the_end()
    assert status == 0, said.getvalue()
    assert (run.total.passed, run.total.skipped, run.total.failures) == (1, 2, []), run.total


if __name__ == "__main__":
    claims.run()
