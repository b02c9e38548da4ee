# This source file is part of the Optimist open source project, under the MIT licence.
"""Compares the rules of Documentation/Promises.md with the names of the tests."""

import re

HEADER = """# Which tests prove which promise

`Scripts/rules` writes this file from the names of the tests. The rules are in Documentation/Promises.md.
A test is listed under each rule whose number its name begins with.
"""
RULE = re.compile(r"^\| ([A-Z]\d{1,2}) \| (.*) \|$")
NUMBER = re.compile(r"(?<![\w.#/{\\-])(?<!gRFC )[A-Z]\d{1,2}(?![\w-])")
ITALICS = re.compile(r"(?<!\*)\*[^*]+\*(?!\*)")
CODE, LINK_TARGET = re.compile(r"`[^`]*`"), re.compile(r"(?<=\])\([^)]*\)")
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|cf|vs|approx)\.")
SENTENCE_END = re.compile(r"[.?!][)\]”\"*]*\s+(?=[^a-z\s])")
SWIFT_COMMENT = re.compile(r"(?:^|\s)///?(.*)$", re.MULTILINE)
PYTHON_COMMENT = re.compile(r'(?:^|\s)#(.*)$|"""(.*?)"""', re.MULTILINE | re.DOTALL)


def read_rules(promises):
    """The rules by number, in the order of the document."""
    return dict(match.groups() for match in map(RULE.match, promises.splitlines()) if match)


def sentences(rule):
    """The sentences of a rule, without its notes in italics. Periods in code and links do not end a sentence."""
    plain = ITALICS.sub(" ", LINK_TARGET.sub("", CODE.sub("X", rule)))
    parts = SENTENCE_END.split(ABBREVIATION.sub("as", plain))
    return [part for part in parts if re.search(r"\w", part)]


def tests_by_rule(rules, tests):
    """The tests of each rule, sorted by file and claim."""
    return {
        rule: sorted((test for test in tests if rule in test.rules), key=lambda test: (test.file, test.claim))
        for rule in rules
    }


def listed(rules, tests):
    """The lines that name the tests of each rule."""
    for rule, proofs in tests_by_rule(rules, tests).items():
        yield f"## {rule}"
        yield from [f"- {test.claim} · `{test.file.rsplit('/', 1)[-1]}`" for test in proofs] or ["None: see the rule."]
        yield ""


def written(rules, tests):
    """The text of the file that names the tests of each rule."""
    return "\n".join([HEADER, *listed(rules, tests)])


def comments(file, text):
    if file.endswith(".py"):
        return "\n".join(a or b for a, b in PYTHON_COMMENT.findall(text))
    return "\n".join(SWIFT_COMMENT.findall(text))


def unknown_numbers(file, text, rules):
    """The rule numbers in a text that do not exist, as sentences."""
    numbers = sorted(set(NUMBER.findall(text)) - set(rules))
    return [f"{file}: {number} is not a rule of Documentation/Promises.md." for number in numbers]


def problems(rules, tests, texts):
    """The faults, as sentences. `texts` maps files to the texts that are searched for numbers of rules."""
    found = []
    for rule, proofs in tests_by_rule(rules, tests).items():
        if not proofs and not ITALICS.search(rules[rule]):
            found.append(
                f"Documentation/Promises.md: no test proves {rule}. Begin a test's name with {rule}, or explain in "
                "italics in the rule why none is needed.")
        if len(sentences(rules[rule])) > 2:
            found.append(
                f"Documentation/Promises.md: {rule} has {len(sentences(rules[rule]))} sentences. Shorten it to two, or move "
                "details into a list below the table.")
    for test in tests:
        found += unknown_numbers(test.file, test.claim, rules)
    for file, text in texts.items():
        found += unknown_numbers(file, text, rules)
    return sorted(set(found), key=found.index)
