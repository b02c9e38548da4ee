# This source file is part of the Optimist open source project, under the MIT licence.
"""The turns of phrase that make a reader of technical English read a sentence twice, each with a plainer form.

Some have a proper use now and then, so none is forbidden: Scripts/tidy counts them. GRDB, SwiftNIO, Hummingbird and
swift-log have 0.5 to 2 in 1,000 words.
"""

import re
from dataclasses import dataclass
from functools import cached_property

START = r"(?:(?<=^)|(?<=[.:;?!] ))"
BE = r"(?:is|are|was|were)"
HAVE = r"(?:has|have|had)"
PREPOSITION = (
    r"(?:of|to|for|with|from|by|in|on|at|under|over|after|before|until|than|as|into|through|during|without|below|"
    r"above)")
MACHINE = (
    r"(?:server|remote|app|engine|device|client|answer|response|request|page|row|backend|database|table|schema|file|"
    r"record|cursor|it)")
VERB = (
    r"(?:needs?|wants?|gets?|knows?|takes?|keeps?|finds?|gives?|sends?|leaves?|shows?|names?|says?|said|sees?|holds?)")


@dataclass(frozen=True)
class Turn:
    """A turn of phrase: its name, the pattern that finds it, what to write instead, and a sentence that has it."""

    name: str
    pattern: str
    instead: str
    example: str

    @cached_property
    def expression(self):
        return re.compile(self.pattern, re.IGNORECASE)


NOT_THE_SUBJECT_FIRST = (
    Turn("fronted “Of …”",
         START + r"of (?!course\b)\w+|, of (?:an?|each|those|which)\b",
         "Begin with the subject: “If the remote does not answer …”.",
         "Of a remote that does not answer, the id serves."),
    Turn("“Nothing …” as a subject",
         START + r"nothing (?!else\b|happens\b|you\b|(?:is|was|has been) \w+(?:[.;:]|$))\w+",
         "Make a negative sentence with the real subject: “The device sends no event”.",
         "Nothing is sent after this."),
    Turn("“So is”, “nor is”",
         START + r"(?:so (?:is|are|do|does|has|have)|nor (?:is|are|do|does)|neither (?:is|does))\b",
         "Repeat the verb: “Updates are also captured.”",
         "So is a row."),
)

NO_NOUN = (
    Turn("“what …” for a thing",
         r"\bwhat (?:is|are|was|were|has|have|had|it|the|an?|others?|this|that|they|each|one|another|can|cannot|may|"
         r"must|will|came|comes|goes|stands|changed|belongs|remains|waits|of|users?|apps?|devices?|servers?)\b"
         r"(?![^.]*\?)",
         "Name the thing: “the values that the server omits”, “the deleted rows”.",
         "What is not sent may be anything."),
    Turn("“those that”",
         r"\bthose (?:who|that|which|of|in|with|to|from|whose)\b|\bthat of\b",
         "Repeat the noun.",
         "It keeps those that wait."),
    Turn("“the one that”",
         r"\bones? (?:that|which|who|whose)\b|\b(?:the one|ones) of\b",
         "Repeat the noun.",
         "It is the one that waits."),
    Turn("“who” without a noun",
         START + r"who \w[^.?]*[.;]|\bwho(?:m)?(?:so)?ever\b",
         "Name the actor: the caller, the device, the app, the user.",
         "Tell whoever asks."),
    Turn("“nobody”, “somebody”",
         r"\b(?:no|some|every)body\b",
         "Name the machine: no subscriber, another device, every process.",
         "It is nobody's row."),
    Turn("“he” for a machine or a caller",
         r"\b(?:he|him|his)\b",
         "“it”, or “they” for a person.",
         "It hears what he has."),
    Turn("“the former”, “the latter”",
         r"\bthe latter\b|\bthe former(?= (?:is|was|has|one)\b|[.,;:])",
         "Repeat the noun.",
         "It waits for the latter."),
    Turn("“of the server's”",
         r"(?<!ahead )(?<!because )\bof (?:the|an?|this|another|each|every) \w+['’]s"
         rf"(?=[.,;:)]|$| (?:{BE}|{HAVE}|{PREPOSITION}|and|or|that|may|must)\b)|"
         r"\bof (?:ours|theirs|hers|one's)\b",
         "“received from the server”, “the server's rows”.",
         "It applies rows of the server's."),
)

NEGATIVE_NOUNS = (
    Turn("“is no …”",
         rf"(?<!there )\b{BE} (?:no (?!longer\b|more\b|less\b|different\b|such\b|one\b|\w+er than\b)\w+|"
         r"(?:(?-i:none)|no one's)\b(?! of))",
         "“is not a …”.",
         "A date that is no number has passed."),
    Turn("“has no …”",
         rf"\b(?:{HAVE}|{VERB}) (?:none\b|no (?!longer\b|more\b|effect\b|way\b|idea\b|one\b|other\b)\w+)",
         "“does not have”, “without”, “never”.",
         "A row that needs no parent waits."),
    Turn("“has nothing”",
         rf"\b(?:{HAVE}|{VERB}|hears?) nothing\b",
         "“does not have any”, “does not mention”.",
         "The page says nothing about it."),
    Turn("“nothing but”, “but for”",
         r"\b(?:nothing|none|anything|everything) but\b|\bbut for\b",
         "“only”, “except”.",
         "It keeps all but for one."),
)

MACHINES_AS_PEOPLE = (
    Turn("“tells”, “told”",
         r"(?<!\bcan )(?<!\bcannot )\b(?:tells?|told|telling)\b",
         "Name the act: returns, reports, notifies, sends.",
         "The page tells the device."),
    Turn("a machine that “says”",
         rf"\b{MACHINE} (?:says?|said)\b",
         "Name the act: contains, reports, requires.",
         "The server says so."),
    Turn("“comes”, “goes”",
         r"\b(?:comes?|came|goes|went|gone|go) (?:to|back|on|in|out|whole|first|again|together|away|up|along|late|"
         r"twice|ahead|by|over|here|there|at|for|as)\b|\b(?:comes|came|goes|went)(?=[.,;:]|$)",
         "Name the act: arrives, is sent, is deleted, is stored.",
         "It is deleted when the page comes."),
    Turn("“stands”",
         r"\b(?:stands?|stood)\b(?! (?:in )?for\b)",
         "“is”, “applies”.",
         "The name stands below the line."),
    Turn("“is here”, “is there”",
         rf"\b{BE} (?:here|there|elsewhere)\b(?! (?:is|are|to|an?|no|any)\b)(?![^.]*\?)",
         "“exists”, “is on this device”, “has arrived”.",
         "It waits for a row that is here."),
    Turn("“becomes of”",
         r"\b(?:be)?(?:comes?|came) of\b",
         "“the outcome”, “the result”.",
         "It notes what became of a push."),
    Turn("“is seen to”",
         r"\b(?:seen|sees) to\b(?! (?:be|have)\b)",
         "Name the act: was handled, was deleted.",
         "It was seen to."),
)

TWO_CLAUSES_IN_ONE = (
    Turn("“by which”, “of whom”",
         rf"(?<!most )(?<!some )(?<!each )(?<!all )(?<!both )\b(?!in which|to which){PREPOSITION} "
         r"(?:which|whom|whose)\b(?! one)",
         "Make two sentences, or say “where” or “when”.",
         "A row of which only the id is known."),
    Turn("a second “which”",
         r"\bwhich\b[^.;:]*\bwhich\b",
         "Make two sentences.",
         "A row which is in a page which arrived."),
    Turn("“of its own”",
         r"\bof (?:its|their|your|our|my|one's) own\b",
         "“its own …”, “a separate …”.",
         "It has a file of its own."),
    Turn("“nothing of it”",
         r"\b(?:anything|nothing|everything|something|(?<!as )much|little) of "
         r"(?:it|them|that|this|these|those|the|what)\b|"
         r"\b(?:all|none|part|rest) of it\b",
         "Name the part: “no row”, “the rest of the file”.",
         "It keeps nothing of it."),
    Turn("“is to be”",
         rf"\b{BE} to be\b|\b{HAVE} (?:still|first|only) to\b",
         "“must be”, “will be”, “should be”.",
         "It is to be sent."),
    Turn("“is had”",
         rf"\b(?:{BE}|be) had\b",
         "“is available”, or name the owner.",
         "There is one to be had."),
)

OLD_WORDS = (
    Turn("“anew”, “thereof”",
         r"\b(?:anew|thereof|therein|wherein|hitherto|henceforth|hereafter|lest)\b",
         "“again”, “new”, or the verb with “re-”.",
         "It is read anew."),
    Turn("“meanwhile”, “by now”",
         r"\bmeanwhile\b|\bin the meantime\b|\bby (?:now|then)\b|\bever since\b|\bfor ever\b|\bfor good\b",
         "“during the request”, “since the last page”, “already”.",
         "Another import has begun meanwhile."),
    Turn("“beside”",
         r"\bbesides?\b",
         "“next to”, “in addition to”, “except”.",
         "It is stored beside the file."),
    Turn("“any more”",
         r"\bany more(?=[.,;:]|$| (?:when|if|after|once|and|or|because|since|by|in)\b)",
         "“no longer”.",
         "It is not held any more."),
    Turn("“too” at the end",
         r"\btoo(?=[.;,:]|$)",
         "“also” before the verb.",
         "Others wait, too."),
    Turn("“whole” for “entirely”",
         r"\b(?:sen[dt]s?|goes|go|comes|received?|refused?|put|stored?|applied|taken|kept|deleted?|read|written) "
         r"whole\b|\bwhole or not\b",
         "“in full”, “the entire …”.",
         "A page is applied whole."),
)

TURNS = (
    *NOT_THE_SUBJECT_FIRST, *NO_NOUN, *NEGATIVE_NOUNS, *MACHINES_AS_PEOPLE, *TWO_CLAUSES_IN_ONE, *OLD_WORDS)


def turns_in(paragraph):
    """The turns in a paragraph, each with the words that make it."""
    return [(turn, match[0]) for turn in TURNS for match in turn.expression.finditer(paragraph)]
