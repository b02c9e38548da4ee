// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
@_spi(Internals) import OptimistWire

/// The answer to one method call.
struct MethodResponse {
    fileprivate let invocation: Invocation

    /// The type of the method-level error. Nil for other responses.
    var error: String? { invocation.name == "error" ? invocation.arguments["type"]?.string ?? "" : nil }

    var isTooOld: Bool { error == "schemaTooOld" }

    /// - Parameter inSpace: Whether the call names a space.
    /// - Throws: The ``RemoteFailure`` for a method-level error.
    func arguments(inSpace: Bool = false) throws(RemoteFailure) -> JSONObject {
        if error != nil { throw AnswerClass.failure(ofMethod: invocation.arguments, inSpace: inSpace) }
        return invocation.arguments
    }
}

extension Response {
    /// - Throws: ``RemoteFailure/unreachable(_:)`` if the response does not answer the call.
    func answer(_ callID: String, of table: String) throws(RemoteFailure) -> MethodResponse {
        guard let invocation = methodResponses.first(where: { $0.callID == callID }) else {
            throw RemoteFailure.unreachable("an answer without \(table)")
        }
        return MethodResponse(invocation: invocation)
    }

    var date: Date? {
        guard let serverTime, UTCDate.isValid(serverTime) else { return nil }
        return try? Date.ISO8601FormatStyle(includingFractionalSeconds: serverTime.utf8.count > 20).parse(serverTime)
    }
}

extension EndedAccess {
    init(json: JSONObject) { self.init(Reason(json["reason"]?.string ?? Reason.removed.description)) }
}

extension RemoteEpoch {
    var json: JSON { ["epoch": .string(name), "firstSeq": .int(firstSeq)] }
}

extension [RemoteEpoch] {
    /// Parses `[{"epoch": "e1", "firstSeq": 0}, …]`. Empty for any other JSON.
    init(json: JSON?) {
        let epochs = (json?.array ?? []).map { epoch -> RemoteEpoch? in
            guard let name = epoch["epoch"]?.string, let firstSeq = epoch["firstSeq"]?.int else { return nil }
            return RemoteEpoch(name: name, firstSeq: firstSeq)
        }
        self = epochs.contains(nil) ? [] : epochs.compactMap(\.self)
    }
}
