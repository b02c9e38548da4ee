// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistWire

/// What bodies look like.
extension OpenAPI {
    static func reference(_ name: String) -> JSON { ["$ref": .string("#/components/schemas/\(name)")] }

    static func parameter(
        _ name: String, in place: String, required: Bool = true, _ schema: JSON = ["type": "string"],
        _ meaning: String? = nil
    ) -> JSON {
        var object: JSONObject = [
            "name": .string(name), "in": .string(place), "required": .bool(required), "schema": schema,
        ]
        if let meaning { object.append("description", .string(meaning)) }
        return .object(object)
    }

    /// An object with some members that must be there.
    static func object(_ members: JSONObject, required: [String]? = nil) -> JSON {
        let names = required ?? members.members.map(\.key)
        return ["type": "object", "properties": .object(members), "required": .array(names.map(JSON.string))]
    }

    static let text: JSON = ["type": "string"]
    static let textOrNull: JSON = ["type": ["string", "null"]]
    static let time: JSON = ["type": "string", "format": "date-time"]
    static let nothing = object([:])

    static let schemas: JSON = [
        "Problem": problem, "Refusal": refusal, "Entry": entry, "Grant": grant, "Session": session,
        "JMAPRequest": jmapRequest, "JMAPResponse": jmapResponse, "Invocation": invocation, "Place": place,
    ]

    private static let problem = object(
        [
            "type": text, "status": ["type": "integer"], "title": text, "detail": text, "limit": text, "error": text,
            "reason": text,
        ], required: ["type", "status", "detail"])

    private static let refusal = object(
        ["error": text, "error_description": text, "reason": text], required: ["error", "error_description"])

    private static let entry = object(
        [
            "email": text, "password": text,
            "device": object(
                ["id": ["type": "string", "minLength": 1, "maxLength": 128], "name": text], required: ["id"]),
            "invitation": text,
        ], required: ["email", "password", "device"])

    private static let grant = object([
        "access_token": text, "token_type": text, "expires_in": ["type": "integer"], "refresh_token": text,
        "account_id": text,
    ])

    private static let session = object([
        "id": text, "device": text, "signedInAt": textOrNull, "lastUsedAt": time, "isCurrent": ["type": "boolean"],
    ])

    private static let invocation: JSON = [
        "type": "array", "prefixItems": [text, ["type": "object"], text], "minItems": 3, "maxItems": 3,
    ]

    private static let jmapRequest = object(
        [
            "using": ["type": "array", "items": text],
            "methodCalls": ["type": "array", "items": reference("Invocation")],
            "createdIds": ["type": ["object", "null"], "additionalProperties": text],
            "device": ["type": "string", "pattern": "^[A-Za-z0-9]{1,64}$"],
            "origins": ["type": "array", "items": ["type": "string", "pattern": "^[A-Za-z0-9]{1,64}$"]],
            "push": ["type": "integer", "minimum": 0], "schemaVersion": ["type": ["integer", "null"]],
            "groups": ["type": "array", "items": ["type": "array", "items": text]],
            "oldestPendingSeconds": ["type": "integer", "minimum": 0],
        ], required: ["using", "methodCalls"])

    private static let jmapResponse = object(
        [
            "methodResponses": ["type": "array", "items": reference("Invocation")], "sessionState": text,
            "serverTime": time, "createdIds": ["type": "object", "additionalProperties": text],
        ], required: ["methodResponses", "sessionState"])

    private static let place = object([
        "place": text, "area": textOrNull, "country": textOrNull, "language": textOrNull, "areaLanguage": textOrNull,
        "distanceMeters": ["type": "integer"], "attribution": text,
    ])
}
