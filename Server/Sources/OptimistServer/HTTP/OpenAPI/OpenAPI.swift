// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import OptimistWire

/// The server's HTTP interface as a document for machines, which `GET /openapi.json` answers.
///
/// The routes themselves are made elsewhere. Tests compare: no route is missing here, nothing else is here, and the server
/// gives no status that is not here.
///
/// > Source: OpenAPI Specification 3.1.1.
struct OpenAPI {
    /// One method of one path.
    struct Operation: Sendable {
        var method: HTTPRequest.Method
        /// With its parameters in braces.
        var path: String
        var summary: String
        /// Whether it needs no token.
        var isPublic = false
        var parameters: [JSON] = []
        var body: Body?
        /// What each status means, without those in ``allStatuses``.
        var answers: [Int: Answer]
    }

    struct Body: Sendable {
        var type = "application/json"
        var schema: JSON
    }

    struct Answer: Sendable {
        var meaning: String
        /// Nil: the answer has no body, or a problem.
        var body: Body?

        init(_ meaning: String, _ schema: JSON, type: String = "application/json") {
            self.meaning = meaning
            body = Body(type: type, schema: schema)
        }
        init(_ meaning: String) { self.meaning = meaning }
    }

    /// The server's own operations.
    static let operations = general + accounts + owners + sync

    /// - Parameters:
    ///   - apps: Routes of the app's own, whose answers only the app knows.
    ///   - keepsHealth: Whether the server takes reports of an app's health.
    static func document(beside apps: [AppRoute] = [], keepsHealth: Bool = false) -> JSON {
        var paths: JSONObject = [:]
        let all =
            (operations + (keepsHealth ? health : [])).map { ($0.path, $0.method, $0.json) }
            + apps.map { ($0.path.description, $0.method, $0.json) }
        for (path, operations) in Dictionary(grouping: all, by: \.0).sorted(by: { $0.key < $1.key }) {
            let members = operations.sorted { $0.1.rawValue < $1.1.rawValue }
            paths.append(path, .object(JSONObject(members.map { ($0.1.rawValue.lowercased(), $0.2) })))
        }
        return [
            "openapi": "3.1.1",
            "info": [
                "title": "Optimist sync server", "version": "1",
                "description": """
                HEAD is answered as GET is, without the body. Documentation/Protocol.md says what the requests \
                to /jmap mean.
                """,
                "license": ["name": "MIT", "identifier": "MIT"],
            ],
            "security": [["token": []]],
            "paths": .object(paths),
            "components": [
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer", "bearerFormat": "JWT"]],
                "schemas": schemas,
            ],
        ]
    }
}

extension OpenAPI.Operation {
    /// Every status that the operation may have.
    var statuses: Set<Int> { Set(allAnswers.keys) }

    private var allAnswers: [Int: OpenAPI.Answer] {
        var all = answers
        func add(_ status: Int, _ meaning: String) { if all[status] == nil { all[status] = OpenAPI.Answer(meaning) } }
        add(400, "The request cannot be read.")
        add(503, "Not now: try again after Retry-After seconds. Nothing was stored.")
        if !isPublic { add(401, "There is no token, or it is not valid any more.") }
        if body != nil {
            add(413, "The body is too large.")
            add(415, "The body has a Content-Encoding.")
        }
        return all
    }

    /// The operation as the document has it.
    var json: JSON {
        var object: JSONObject = ["summary": .string(summary)]
        if isPublic { object.append("security", []) }
        if !parameters.isEmpty { object.append("parameters", .array(parameters)) }
        if let body { object.append("requestBody", ["required": true, "content": body.content] as JSON) }
        let answers = allAnswers.sorted { $0.key < $1.key }.map { ("\($0.key)", $0.value.json(status: $0.key)) }
        object.append("responses", .object(JSONObject(answers)))
        return .object(object)
    }
}

extension OpenAPI.Body {
    fileprivate var content: JSON { .object(JSONObject([(type, ["schema": schema] as JSON)])) }
}

extension OpenAPI.Answer {
    fileprivate func json(status: Int) -> JSON {
        var object: JSONObject = ["description": .string(meaning)]
        if let body {
            object.append("content", body.content)
        } else if status >= 400 {
            object.append(
                "content",
                [
                    "application/problem+json": ["schema": OpenAPI.reference("Problem")],
                    "application/json": ["schema": OpenAPI.reference("Refusal")],
                ])
        }
        return .object(object)
    }
}

extension AppRoute {
    /// The route as the document has it.
    fileprivate var json: JSON {
        let names = path.description.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
        return [
            "summary": "A route of the app's own.",
            "parameters": .array(names.map { OpenAPI.parameter(String($0.dropFirst().dropLast()), in: "path") }),
            "responses": [
                "401": ["description": "There is no token."], "default": ["description": "As the app says."],
            ],
        ]
    }
}
