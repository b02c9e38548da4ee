// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
@_spi(Internals) import OptimistWire

/// The server's HTTP interface as a document for machines, which `GET /openapi.json` answers: `openapi.json` beside this file.
///
/// The routes themselves are made elsewhere. Tests compare: no route is missing in the document, nothing else is in it, and
/// the server gives no status that is not in it.
///
/// > Source: OpenAPI Specification 3.1.1.
enum OpenAPI {
    /// One method of one path.
    struct Operation: Sendable {
        let method: HTTPRequest.Method
        /// With its parameters in braces.
        let path: String
        /// Whether it needs no token.
        let isPublic: Bool
        /// Every status that it may have.
        let statuses: Set<Int>
    }

    /// The path that only a server has which keeps an app's health.
    private static let health = "/health/reports"

    private static let file: JSONObject = {
        guard let document = (try? JSON(parsing: PackageResources.openapi_json))?.object else {
            preconditionFailure("openapi.json of the server is no JSON object: build the server again from its sources")
        }
        return document
    }()

    /// The operations of every server.
    static let operations = paths(keepsHealth: false).flatMap { path, methods in
        (methods.object ?? [:]).members.compactMap { method, operation in
            HTTPRequest.Method(method.uppercased()).map { method in
                Operation(
                    method: method, path: path, isPublic: operation["security"] == [],
                    statuses: Set((operation["responses"]?.object ?? [:]).members.compactMap { Int($0.key) }))
            }
        }
    }

    /// - Parameters:
    ///   - apps: Routes of the app's own, whose answers only the app knows.
    ///   - keepsHealth: Whether the server takes reports of an app's health.
    static func document(beside apps: [AppRoute] = [], keepsHealth: Bool = false) -> JSON {
        var all = JSONObject(paths(keepsHealth: keepsHealth))
        for app in apps {
            var methods = all[app.path.description]?.object ?? [:]
            methods[app.method.rawValue.lowercased()] = app.json
            all[app.path.description] = .object(methods)
        }
        var document = file
        document["paths"] = .object(all)
        return .object(document)
    }

    private static func paths(keepsHealth: Bool) -> [(String, JSON)] {
        (file["paths"]?.object ?? [:]).members.filter { keepsHealth || $0.key != health }.map { ($0.key, $0.value) }
    }
}

extension AppRoute {
    /// The route as the document has it.
    fileprivate var json: JSON {
        let names = path.description.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
        let parameters = names.map { name in
            [
                "name": .string(String(name.dropFirst().dropLast())), "in": "path", "required": true,
                "schema": ["type": "string"],
            ] as JSON
        }
        return [
            "summary": "A route of the app's own.", "parameters": .array(parameters),
            "responses": [
                "401": ["description": "There is no token."], "default": ["description": "As the app says."],
            ],
        ]
    }
}
