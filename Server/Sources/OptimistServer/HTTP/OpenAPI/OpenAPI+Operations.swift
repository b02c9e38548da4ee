// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistWire

/// Each operation of the server, with what its statuses mean.
extension OpenAPI {
    static let general = [
        Operation(
            method: .get, path: "/healthz", summary: "Whether the process answers.", isPublic: true,
            answers: [200: Answer("It does.", object(["status": text]))]),
        Operation(
            method: .get, path: "/readyz", summary: "Whether the data can be written.", isPublic: true,
            answers: [200: Answer("It can.", object(["status": text])), 503: Answer("It cannot: the detail says why.")]),
        Operation(
            method: .get, path: "/openapi.json", summary: "This document.", isPublic: true,
            answers: [200: Answer("The document.", ["type": "object"])]),
        Operation(
            method: .get, path: "/.well-known/oauth-authorization-server",
            summary: "Where tokens come from, and who may sign up (RFC 8414).", isPublic: true,
            answers: [200: Answer("The metadata.", ["type": "object"])]),
    ]

    /// What a server has that keeps an app's health.
    static let health = [
        Operation(
            method: .post, path: "/health/reports", summary: "Send running totals of an installation.", isPublic: true,
            body: Body(schema: ["type": "object"]),
            answers: [
                200: Answer("How many totals were kept, and how many were too old.", ["type": "object"]),
                404: Answer("The server keeps the health of another app."), 429: tooMany,
            ])
    ]

    private static let tooMany = Answer("Too many attempts: Retry-After says when to try again.")
    private static let done = Answer("Done.", nothing)

    static let accounts = [
        Operation(
            method: .post, path: "/auth/sign-up", summary: "Make an account, and sign in.", isPublic: true,
            body: Body(schema: reference("Entry")),
            answers: [
                201: Answer("The tokens.", reference("Grant")), 400: Answer("What was typed is refused: see reason."),
                403: Answer("The operator does not allow it: see reason."), 429: tooMany,
            ]),
        Operation(
            method: .post, path: "/auth/sign-in", summary: "Sign a device in.", isPublic: true,
            body: Body(schema: reference("Entry")),
            answers: [
                200: Answer("The tokens.", reference("Grant")), 400: Answer("The address or the password is wrong."),
                429: tooMany,
            ]),
        Operation(
            method: .post, path: "/auth/token", summary: "Exchange a refresh token for the next pair.", isPublic: true,
            body: form(["grant_type": ["const": "refresh_token"], "refresh_token": text]),
            answers: [
                200: Answer("The tokens.", reference("Grant")), 400: Answer("The session is over: see reason."),
            ]),
        Operation(
            method: .post, path: "/auth/revoke", summary: "End the session of a token (RFC 7009).", isPublic: true,
            body: form(["token": text]), answers: [200: done]),
        Operation(
            method: .post, path: "/auth/forgot-password", summary: "Ask for a reset token.", isPublic: true,
            body: Body(schema: object(["email": text])),
            answers: [
                202: Answer("Accepted, whether or not there is such an account.", nothing),
                403: Answer("This server sends no reset tokens."), 429: tooMany,
            ]),
        Operation(
            method: .post, path: "/auth/reset-password", summary: "Set a password with a reset token.", isPublic: true,
            body: Body(schema: object(["token": text, "newPassword": text])), answers: [200: done, 429: tooMany]),
    ]

    private static func form(_ members: JSONObject) -> Body {
        Body(type: "application/x-www-form-urlencoded", schema: object(members))
    }

    static let owners = [
        Operation(
            method: .get, path: "/auth/sessions", summary: "The account's sessions.",
            answers: [
                200: Answer("The sessions.", object(["sessions": ["type": "array", "items": reference("Session")]]))
            ]),
        Operation(
            method: .delete, path: "/auth/sessions/{id}", summary: "End a session of the account.",
            parameters: [parameter("id", in: "path")],
            answers: [200: done, 404: Answer("The account has no such session.")]),
        Operation(
            method: .post, path: "/auth/password", summary: "Change the password.",
            body: Body(schema: object(["password": text, "newPassword": text])), answers: [200: done, 429: tooMany]),
        Operation(
            method: .post, path: "/auth/delete-account", summary: "Delete the account and its rows.",
            body: Body(schema: object(["password": text])), answers: [200: done, 429: tooMany]),
    ]

    private static let sessionResource = Answer("The session resource (RFC 8620, section 2).", ["type": "object"])

    static let sync = [
        Operation(
            method: .get, path: "/.well-known/jmap", summary: "What the server can do, and where it is.",
            answers: [200: sessionResource]),
        Operation(
            method: .get, path: "/jmap/session", summary: "The same as /.well-known/jmap.",
            answers: [200: sessionResource]),
        Operation(
            method: .post, path: "/jmap", summary: "Push rows and pull changes (RFC 8620, section 3).",
            body: Body(schema: reference("JMAPRequest")),
            answers: [
                200: Answer("The answers to the calls.", reference("JMAPResponse")),
                429: Answer("The device has too many requests under way."),
            ]),
        Operation(
            method: .get, path: "/jmap/eventsource", summary: "Events when rows change (RFC 8620, section 7.3).",
            parameters: [
                parameter("types", in: "query", required: false, text, "Types with commas between, or *."),
                parameter("closeafter", in: "query", required: false, ["enum": ["state", "no"]]),
                parameter("ping", in: "query", required: false, ["type": "integer"], "Seconds. 0: no pings."),
            ],
            answers: [
                200: Answer("The events, without end.", text, type: "text/event-stream"),
                429: Answer("The account has too many streams."),
            ]),
        Operation(
            method: .get, path: "/places", summary: "What the nearest populated place is called.",
            parameters: [
                parameter("lat", in: "query", ["type": "number", "minimum": -90, "maximum": 90]),
                parameter("lon", in: "query", ["type": "number", "minimum": -180, "maximum": 180]),
                parameter("lang", in: "query", required: false, text, "Languages with commas between, the best first."),
            ],
            answers: [
                200: Answer("The place.", reference("Place")), 204: Answer("No place is near."),
                304: Answer("The caller's copy is the answer."), 404: Answer("This server has no gazetteer."),
            ]),
    ]
}
