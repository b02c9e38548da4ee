// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes

/// A complete answer.
public struct SessionResponse: Sendable {
    /// The status and the header fields.
    public let head: HTTPResponse
    /// The body's bytes.
    public let body: [UInt8]

    /// Makes an answer, for tests.
    public init(head: HTTPResponse, body: [UInt8] = []) {
        self.head = head
        self.body = body
    }

    /// The status.
    public var status: HTTPResponse.Status { head.status }

    /// Decodes the body of a successful answer as JSON.
    ///
    /// - Parameters:
    ///   - type: The type to decode.
    ///   - decoder: Default: nil, a decoder with ISO 8601 dates.
    /// - Throws: ``RefusedAnswer`` if the status is not a success; `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, decoder: JSONDecoder? = nil
    ) throws -> Value {
        guard status.kind == .successful else { throw RefusedAnswer(head: head, body: body) }
        return try (decoder ?? .iso8601).decode(type, from: Data(body))
    }
}

extension JSONDecoder {
    fileprivate static var iso8601: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }
}
