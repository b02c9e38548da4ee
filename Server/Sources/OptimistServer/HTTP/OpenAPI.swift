// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
@_spi(Internals) import OptimistWire

/// The OpenAPI document, which `GET /openapi.json` returns. Its source is `openapi.json` in this folder.
///
/// Tests check that routes and document agree, and that the server only answers with documented statuses.
///
/// > Source: OpenAPI Specification 3.1.1.
enum OpenAPI {
    struct Operation: Sendable {
        let method: HTTPRequest.Method
        /// With its parameters in braces.
        let path: String
        /// Whether it works without a token.
        let isPublic: Bool
        let statuses: Set<Int>
    }

    /// Routes that only some servers have.
    enum Extra: CaseIterable {
        case health, joinPage

        var paths: [String] {
            switch self {
            case .health: ["/health/reports"]
            case .joinPage: ["/.well-known/apple-app-site-association", "/join"]
            }
        }
    }

    private static let file: JSONObject = {
        guard let document = (try? JSON(parsing: PackageResources.openapi_json))?.object else {
            preconditionFailure("The server's openapi.json is not a JSON object: rebuild the server from its sources")
        }
        return document
    }()

    /// The operations that every server has.
    static let operations = paths(with: []).flatMap { path, methods in
        (methods.object ?? [:]).members.compactMap { method, operation in
            HTTPRequest.Method(method.uppercased()).map { method in
                Operation(
                    method: method, path: path, isPublic: operation["security"] == [],
                    statuses: Set((operation["responses"]?.object ?? [:]).members.compactMap { Int($0.key) }))
            }
        }
    }

    /// - Parameters:
    ///   - apps: The app's own routes, whose answers only the app knows.
    ///   - extras: The optional routes of this server.
    static func document(beside apps: [AppRoute] = [], with extras: Set<Extra> = []) -> JSON {
        var all = JSONObject(paths(with: extras))
        for app in apps {
            var methods = all[app.path.description]?.object ?? [:]
            methods[app.method.rawValue.lowercased()] = app.json
            all[app.path.description] = .object(methods)
        }
        var document = file
        document["paths"] = .object(all)
        return .object(document)
    }

    private static func paths(with extras: Set<Extra>) -> [(String, JSON)] {
        let absent = Extra.allCases.filter { !extras.contains($0) }.flatMap(\.paths)
        return (file["paths"]?.object ?? [:]).members.filter { !absent.contains($0.key) }.map { ($0.key, $0.value) }
    }
}

extension AppRoute {
    fileprivate var json: JSON {
        let names = path.description.split(separator: "/").filter { $0.hasPrefix("{") && $0.hasSuffix("}") }
        let parameters = names.map { name in
            [
                "name": .string(String(name.dropFirst().dropLast())), "in": "path", "required": true,
                "schema": ["type": "string"],
            ] as JSON
        }
        return [
            "summary": "A route of the app.", "parameters": .array(parameters),
            "responses": [
                "401": ["description": "The token is missing or not valid."],
                "default": ["description": "The app's answer."],
            ],
        ]
    }
}
