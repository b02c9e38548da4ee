// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct RulesTests {
    @Test(arguments: [
        ("a|bc", ["a", "bc"], ["", "ab", "abc"]), ("a*b+c?", ["b", "aabbc"], ["aac", "ac", ""]),
        ("(ab){2,3}", ["abab", "ababab"], ["ab", "abababab"]), ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaaa"], ["a"]), ("a{0,1}b", ["b", "ab"], ["aab"]), ("", [""], ["a"]),
        ("[a-c_-]+", ["ab_-c"], ["d"]), ("[^a-c]", ["d", "é"], ["a", "dd"]), ("[-a]", ["-", "a"], ["b"]),
        ("\\p{Lu}\\P{L}", ["A1"], ["a1", "AB"]), ("[\\p{L}\\-]+", ["Ünal-Čapek"], ["a b"]),
        (".", ["x", "😀"], ["\n", "\r", ""]), ("\\(\\.\\)\\n\\t", ["(.)\n\t"], ["(a)\n\t"]),
        ("(|a)(b|)", ["", "a", "b", "ab"], ["ba"]), ("(a*)*", ["", "aaa"], ["b"]), ("[$^]", ["$"], ["a"]),
        ("\\p{Nd}{2}:\\p{Nd}{2}", ["09:30"], ["9:30", "09:300"]),
    ])
    func `G1 a pattern matches only complete texts`(pattern: String, fit: [String], unfit: [String]) {
        let pattern = TextPattern(pattern)
        #expect(pattern.fault == nil)
        for text in fit { #expect(pattern.matches(text), "\(text)") }
        for text in unfit { #expect(!pattern.matches(text), "\(text)") }
    }

    @Test(arguments: [
        ("(a", "is not closed"), ("a)", "closes no group"), ("*a", "follows nothing"), ("a**", "follows another"),
        ("[", "it ends"), ("[]", "needs a character"), ("[b-a]", "the lower one first"),
        ("[a-\\p{L}]", "lower one first"),
        ("a{2", "the form"), ("a{,2}", "the form"), ("a{3,2}", "above the second"), ("a{1001}", "more than 1000"),
        ("(ab?){400}", "too many repetitions"), ("((a{1000}){1000}){1000}", "too many repetitions"),
        ("(){1000}(){1000}(){1000}", "too many repetitions"),
        ("\\d", "is not supported"), ("\\p{X}", "category"), ("\\", "it ends"), ("^a$", "matches the whole text"),
        (String(repeating: "(", count: 51) + String(repeating: ")", count: 51), "too deeply"),
        (String(repeating: "a", count: 1_001), "longer than 1000"), ("]", "closes nothing"),
    ])
    func `G1 an invalid pattern reports why, and matches nothing`(text: String, why: String) {
        let pattern = TextPattern(text)
        #expect(pattern.fault?.contains(why) == true, "\(pattern.fault ?? "no fault")")
        #expect(!pattern.matches(""))
    }

    @Test(arguments: ["(a*)*b", "(a|a)*b", "(a|aa)+b", "a*a*a*a*a*a*b", "((a+)+)+b"])
    func `G1 matching takes time proportional to the pattern's size times the text's length`(pattern: String) {
        let pattern = TextPattern(pattern)
        let text = String(repeating: "a", count: TextPattern.maxTextBytes - 1)
        #expect(!pattern.matches(text))
        #expect(pattern.matches(text + "b"))
        #expect(!pattern.matches(text + "ab"), "A text that is too long matches nothing.")
    }

    @Test(arguments: [
        (".*#.{0,250}", "#a"), ("(a?){200}b", "a"), ("(\\p{L}|\\p{N})*", "é1"), ("[^b-cd-ef-gh-i]{0,400}", "z\u{E0}"),
        ("[a-z]*", "ab"),
    ])
    func `G1 the work of a match is counted, and is at most the text's length times the pattern's size`(
        pattern: String, unit: String
    ) {
        let pattern = TextPattern(pattern)
        #expect(pattern.fault == nil)
        let sizes = [300, 1_200]
        let works = sizes.map { size in
            let text = String(repeating: unit, count: size)
            let (_, work) = pattern.match(text)
            #expect((1...3 * 1_000 * (text.unicodeScalars.count + 1)).contains(work))
            return work
        }
        #expect(works[1] <= 6 * works[0], "a text four times as long takes about four times the work")
        #expect(pattern.match(String(repeating: "a", count: TextPattern.maxTextBytes + 1)) == (false, 0))
    }

    @Test func `G1 a character set is tested once for each character, however many states wait for it`() {
        let set = "[" + (0..<200).map { String(UnicodeScalar(0x4E00 + 2 * $0) ?? "x") }.joined() + "]"
        let text = String(repeating: "\u{4E00}", count: 100)
        let (one, many) = (TextPattern("\(set)*").match(text), TextPattern("\(set){0,300}").match(text))
        #expect(one.isMatch && many.isMatch && many.work < 2 * one.work)
    }

    @Test(arguments: [
        (ColumnRules(min: 1, max: 5), JSON.int(1), JSON.int(0), "\"min\": the minimum is 1"),
        (ColumnRules(min: 1, max: 5), .double(5), .double(5.5), "\"max\": the maximum is 5"),
        (ColumnRules(max: 5), "5", "9007199254740993", "\"max\""),
        (ColumnRules(maxLength: 3), "e\u{301}é", "aaaa", "\"maxLength\": the text must have at most 3"),
        (ColumnRules(pattern: "[a-z]+"), "abc", "Abc", "\"pattern\": the text must match [a-z]+"),
        (
            ColumnRules(oneOf: ["open", "done"]), "done", "Done",
            "\"enum\": the value must be one of \"open\", \"done\""
        ),
        (ColumnRules(oneOf: [1]), 1, 2, "\"enum\": the value must be 1"),
        (
            ColumnRules(oneOf: (1...10).map { .int($0) }), 1, 11,
            "\"enum\": the value must be one of 1, 2, 3, 4, 5, 6, 7, 8 and 2 more"
        ),
        (ColumnRules(oneOf: [1, 2]), .double(2), 3, "\"enum\""),
        (ColumnRules(min: 1, maxLength: 1, oneOf: ["b"]), .null, "a", "\"enum\""),
    ])
    func `G1 a value that breaks a rule gets an objection that names it, and null breaks none`(
        rules: ColumnRules, fit: JSON, unfit: JSON, words: String
    ) {
        #expect(rules.objection(to: fit) == nil)
        #expect(rules.objection(to: .null) == nil)
        let objection = rules.objection(to: unfit)
        #expect(
            objection?.hasPrefix("breaks the rule ") == true && objection?.contains(words) == true, "\(objection ?? "")"
        )
    }

    @Test(arguments: [
        (#"{"type":"int","min":5,"max":4}"#, "T.a has a \"min\" above its \"max\""),
        (#"{"type":"int","max":9007199254740992}"#, "T.a needs a finite"),
        (#"{"type":"string","min":5}"#, "T.a has \"min\""), (#"{"type":"int","min":"a"}"#, "T.a needs a number as its"),
        (#"{"type":"int","maxLength":5}"#, "T.a has \"maxLength\""), (#"{"type":"string","maxLength":0}"#, "T.a has a"),
        (#"{"type":"string","pattern":"("}"#, "T.a has a \"pattern\" that cannot be read: a \"(\" is"),
        (#"{"type":"string","enum":[]}"#, "T.a has an empty"), (#"{"type":"string","enum":[1]}"#, "T.a has a value"),
        (#"{"type":"bool","enum":[true]}"#, "T.a has an \"enum\""), (#"{"type":"counter","min":0}"#, "T.a has \"min\""),
        (#"{"type":"string","enum":"a"}"#, "T.a needs a list"),
    ])
    func `G2 a bad rule is refused with a message that names its place`(column: String, start: String) throws {
        let json = try JSON(parsing: #"{"id":"x","types":{"T":{"a":\#(column)}}}"#.utf8)
        let error = #expect(throws: SchemaError.self) { try Schema(json: json) }
        #expect(error?.description.hasPrefix(start) == true, "\(error?.description ?? "")")
    }

    @Test func `G2 rules are part of the schema's JSON`() throws {
        let rules = ColumnRules(min: -1.5, max: 3, oneOf: [1, 2])
        let schema = Schema(
            id: "x",
            types: [
                "T": TypeSchema(columns: [
                    "a": ColumnSchema(.number, rules: rules),
                    "b": ColumnSchema(.string, rules: ColumnRules(maxLength: 4, pattern: "[a-z]*")),
                ])
            ])
        #expect(try Schema(json: JSON(parsing: schema.json.bytes)) == schema)
        #expect(schema.json["types"]?["T"]?["b"] == ["type": "string", "maxLength": 4, "pattern": "[a-z]*"])
        #expect(schema.json["types"]?["T"]?["a"] == ["type": "number", "min": -1.5, "max": 3, "enum": [1, 2]])
    }

    @Test func `an invalid fault code is replaced`() {
        #expect(RowFault("tooEarly", "It is too early.").code == "tooEarly")
        #expect(RowFault("what was written", "It is too early.").code == "refused")
    }
}
