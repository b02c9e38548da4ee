// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes

/// The server responded with a status that is not a success.
public struct HTTPStatusError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status of the response.
    public let status: HTTPResponse.Status

    /// Creates an error.
    public init(status: HTTPResponse.Status) { self.status = status }

    public var description: String { "the server responded with status \(status.code)" }
}

extension HTTPStatusError {
    /// A `failureTTL` for a `Loader`: 60 s for resources that do not exist (404) or are gone (410).
    ///
    /// For every other error it returns nil, so the next request tries again.
    public static func pauseIfMissing(_ error: any Error) -> Duration? {
        guard let status = (error as? Self)?.status, status == .notFound || status == .gone else { return nil }
        return .seconds(60)
    }
}
