// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@_spi(Internals) @testable import OptimistWire

@Suite(.timeLimit(.minutes(20)))
struct SchemaTests {
    private static let whole = Schema(
        id: "shop", version: 3, minClientVersion: 1,
        types: [
            "List": TypeSchema(
                columns: ["name": ColumnSchema(.string, isRequired: true, maxBytes: 100)], editWins: true),
            "Todo": TypeSchema(
                columns: [
                    "title": ColumnSchema(.string, formerNames: [FormerName("content", until: 2)]),
                    "likes": ColumnSchema(.counter),
                    "listId": ColumnSchema(.ref, target: "List", onDelete: .cascade),
                    "after": ColumnSchema(.ref, target: "Todo", onDelete: .setNull),
                    "owner": ColumnSchema(.ref, target: "List", onDelete: .restrict),
                ],
                uniqueIndexes: [UniqueIndex(["title"]), UniqueIndex(["listId", "after"], onCollision: .mergeInto)],
                minClientVersion: 2, formerNames: [FormerName("Item", until: 1), FormerName("Task", until: 2)]),
        ])

    @Test func `a schema survives writing and reading`() throws {
        var shared = Self.whole
        shared.types["List"]?.space = .own("space")
        shared.types["List"]?.columns["space"] = ColumnSchema(.ref)
        shared.types["Todo"]?.space = .of("listId")
        for schema in [Self.whole, shared] {
            #expect(try Schema(json: schema.json) == schema)
            #expect(try Schema(json: JSON(parsing: schema.json.bytes)) == schema)
        }
    }

    @Test func `an unknown member that starts with @ is ignored`() throws {
        let json: JSON = ["id": "x", "types": ["T": ["a": ["type": "string"], "@later": 5]]]
        #expect(try Schema(json: json).types["T"]?.columns.count == 1)
    }

    @Test(arguments: [
        (#""b":{"type":"ref","to":"T","required":true,"onDelete":"setNull"}"#, "T.b is required"),
        (#""b":{"type":"ref","to":"U"}"#, "T.b refers to \"U\""), (#""b":{"type":"ref"}"#, "T.b is a ref"),
        (#""b":{"type":"string","to":"T"}"#, "T.b has \"to\""),
        (#""b":{"type":"string","onDelete":"cascade"}"#, "T.b has \"onDelete\""),
        (#""b":{"type":"ref","to":"T","onDelete":"explode"}"#, "\"onDelete\" of T.b"),
        (#""b":{"type":"counter","required":true}"#, "T.b is a counter"),
        (#""b":{"type":"counter"},"@unique":[{"columns":["b"]}]"#, "T.b is of type counter"),
        (#""@unique":[{"columns":["c"]}]"#, "T.@unique names \"c\""), (#""@unique":[{"columns":[]}]"#, "An index of T"),
        (#""@unique":[{"columns":["a","a"]}]"#, "An index of T"),
        (#""@unique":[{"columns":["a"],"onCollision":"fight"}]"#, "\"onCollision\" in T.@unique"),
        (#""@unique":[{"columns":["a"]},{"columns":["a"],"onCollision":"mergeInto"}]"#, "T.@unique has two"),
        (#""@unique":{"columns":["a"]}"#, "T.@unique must be a list"), (#""@editWins":1"#, "T.@editWins must be"),
        (#""@minClientVersion":4"#, "T.@minClientVersion is above"),
        (#""@was":[{"name":"S","until":3}]"#, "T was \"S\""),
        (#""@was":[{"name":"S"}]"#, "T.@was needs"), (#""@was":[{"name":"1","until":1}]"#, "T cannot have been"),
        (#""@was":[{"name":"S","until":1},{"name":"R","until":1}]"#, "T had two names"),
        (#""b":{"type":"string","was":[{"name":"a","until":1}]}"#, "T.a is also a former name"),
        (
            #""b":{"type":"bool","was":[{"name":"c","until":1}]},"d":{"type":"bool","was":[{"name":"c","until":1}]}"#,
            "T.c was"
        ),
    ])
    func `a contradiction is refused with a message that names its place`(members: String, start: String) throws {
        let text = #"{"id":"x","version":3,"types":{"T":{"a":{"type":"string"},\#(members)}}}"#
        let json = try JSON(parsing: text.utf8)
        let error = #expect(throws: SchemaError.self) { try Schema(json: json) }
        #expect(error?.description.hasPrefix(start) == true, "\(error?.description ?? "")")
    }

    @Test func `all faults of a schema are reported together, without consequential ones`() throws {
        let text = #"""
            {"version":"two","types":{
              "A":{"b":{"type":"colour"},"c":{"type":"ref","to":"Z"},"@unique":[{"columns":["b"]},{"columns":["x"]}],
                   "@was":[{"name":"Old","until":7}]},
              "B":{"a":{"type":"ref","to":"C","required":"yes","onDelete":"explode"},"@editWins":1},
              "C":[]}}
            """#
        let error = try #require(throws: SchemaError.self) { try Schema(json: JSON(parsing: text.utf8)) }
        #expect(
            error.faults.map { String($0.prefix(24)) } == [
                "The schema needs an \"id\"", "The schema's \"version\" m", "A.b needs a \"type\": one ",
                "\"required\" of B.a must b", "\"onDelete\" of B.a must b", "B.@editWins must be true",
                "The type \"C\" needs a pla", "A.c refers to \"Z\", which", "A.@unique names \"x\", whi",
            ])
        #expect(error.description.hasPrefix("The schema has 9 faults:\n  The schema needs an \"id\".\n"))
    }

    @Test(arguments: [
        (#""B":{"p":{"type":"ref","to":"A"},"@space":{"parent":"q"}}"#, "B.@space names \"q\", which is not a column."),
        (#""B":{"p":{"type":"string"},"@space":{"parent":"p"}}"#, "B.@space names \"p\" as the parent"),
        (#""B":{"p":{"type":"ref","to":"L"},"@space":{"parent":"p"}}"#, "B.@space leads to \"L\", whose rows cannot"),
        (#""B":{"p":{"type":"ref","to":"B"},"@space":{"parent":"p"}}"#, "B.@space leads in a circle: B, B."),
        (
            #""B":{"p":{"type":"ref","to":"C"},"@space":{"parent":"p"}},"C":{"p":{"type":"ref","to":"B"},"@space":{"parent":"p"}}"#,
            "B.@space leads in a circle: B, C, B."
        ),
        (
            #""B":{"p":{"type":"ref","to":"A"},"l":{"type":"ref","to":"L"},"@space":{"parent":"p"}}"#,
            "B.@space lets rows be in a space, but \"l\" refers to \"L\""
        ),
        (#""B":{"s":{"type":"string"},"@space":{"column":"s"}}"#, "B.@space names \"s\", which must be able"),
        (
            #""B":{"s":{"type":"ref","required":true},"@space":{"column":"s"}}"#,
            "B.@space names \"s\", which must be able"
        ),
        (#""B":{"s":{"type":"ref","to":"L"},"@space":{"column":"s"}}"#, "B.@space names \"s\", which must be able"),
        (#""B":{"s":{"type":"ref"},"@space":"s"}"#, "B.@space must be {"),
    ])
    func `P3 a rule for the space of rows needs one path to a root`(type: String, start: String) throws {
        let text = #"""
            {"id":"x","types":{"L":{"a":{"type":"string"}},"A":{"s":{"type":"ref"},"@space":{"column":"s"}},\#(type)}}
            """#
        let error = #expect(throws: SchemaError.self) { try Schema(json: JSON(parsing: text.utf8)) }
        #expect(error?.faults.contains { $0.hasPrefix(start) } == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [8, 9])
    func `P3 a row is at most eight references away from its root`(steps: Int) throws {
        var schema = Schema(id: "x", types: ["T0": TypeSchema(columns: ["s": ColumnSchema(.ref)])])
        schema.types["T0"]?.space = .own("s")
        for step in 1...steps {
            schema.types["T\(step)"] = TypeSchema(columns: ["p": ColumnSchema(.ref, target: "T\(step - 1)")])
            schema.types["T\(step)"]?.space = .of("p")
        }
        let faults = steps == 8 ? [] : ["T9.@space has more than 8 steps to its root."]
        #expect(schema.contradictions == faults)
    }

    @Test func `swapped names are not a contradiction`() throws {
        let json: JSON = [
            "id": "x", "version": 2,
            "types": [
                "T": [
                    "a": ["type": "string", "was": [["name": "b", "until": 1]]],
                    "b": ["type": "string", "was": [["name": "a", "until": 1]]],
                ]
            ],
        ]
        #expect(try Schema(json: json).types["T"]?.columns["a"]?.formerNames == [FormerName("b", until: 1)])
    }
}
