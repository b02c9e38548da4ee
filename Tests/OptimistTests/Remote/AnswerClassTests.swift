// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import OptimistWire
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(20)))
struct AnswerClassTests {
    private func failure(
        _ status: Int, retryAfter: String? = nil, date: String? = nil, problem: String? = nil
    ) -> RemoteFailure? {
        let type = problem.map { JSON.string("urn:ietf:params:jmap:error:\($0)") }
        let body = type.map { JSON.object(["type": $0, "status": .int(Int64(status)), "detail": "No."]).bytes }
        return AnswerClass.failure(status: status, retryAfter: retryAfter, date: date, body: body ?? [])
    }

    @Test(
        arguments: [
            (200, "text/event-stream", nil), (200, "Text/Event-Stream; charset=utf-8", nil), (200, nil, nil),
            (204, nil, .noPokes), (403, nil, .unreachable("The server refuses this account.")),
            (200, "text/html", .unreachable("The server sent text/html instead of its event stream.")),
            (502, "text/html", .unreachable("HTTP 502")),
        ] as [(Int, String?, RemoteFailure?)])
    func `R7 S8 if the server refuses the event stream or answers with something else, only the stream stops`(
        status: Int, type: String?, expected: RemoteFailure?
    ) {
        var head = HTTPResponse(status: HTTPResponse.Status(code: status))
        head.headerFields[.contentType] = type
        #expect(AnswerClass.failure(ofStream: head) == expected)
    }

    @Test(arguments: [429, 503])
    func `S5 a Retry-After in seconds is honoured up to an hour`(status: Int) {
        for (text, seconds) in [("30", 30), ("0", 0), ("3600", 3_600), ("3601", 3_600), ("1e300", 3_600), ("-5", 0)] {
            #expect(failure(status, retryAfter: text) == .throttled(after: .seconds(seconds)), "\(text)")
        }
    }

    @Test(arguments: [nil, "", "0x10", "nan", "-nan", "inf", "-inf", "soon", "30 s", "Sun, 06 Nov 1994 08:49:37 GMT"])
    func `S5 an unreadable Retry-After is ignored`(text: String?) {
        #expect(failure(503, retryAfter: text) == .unreachable("HTTP 503"))
        #expect(failure(429, retryAfter: text) == .unreachable("HTTP 429"))
    }

    @Test(
        arguments: [
            (200, nil, nil), (204, nil, nil), (409, "pushRewound", .pushRewound), (409, nil, .unreachable("HTTP 409")),
            (400, "limit", .tooLarge(isProtocolLimit: true)), (413, "limit", .tooLarge(isProtocolLimit: true)),
            (413, nil, .tooLarge(isProtocolLimit: false)), (400, "other", .refused("No.")),
            (400, nil, .refused("HTTP 400")),
            (403, nil, .forbidden("The server refuses this account.")), (302, nil, .unreachable("HTTP 302")),
            (404, nil, .unreachable("HTTP 404")), (500, "limit", .unreachable("HTTP 500")),
        ] as [(Int, String?, RemoteFailure?)])
    func `each status maps to its failure in the protocol`(
        status: Int, problem: String?, failure: RemoteFailure?
    ) {
        #expect(self.failure(status, problem: problem) == failure)
    }

    @Test(arguments: ["notJSON", "notRequest", "unknownCapability"])
    func `S9 a request that the server cannot read is a protocol error`(problem: String) {
        let message = "The server does not understand this version of the app (\(problem))."
        #expect(failure(400, problem: problem) == .protocolError(message))
    }
}
