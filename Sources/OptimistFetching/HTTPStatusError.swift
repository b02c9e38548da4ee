// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes

/// The server answered with a status that is not a success.
public struct HTTPStatusError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The status of the answer.
    public let status: HTTPResponse.Status

    /// Makes an error.
    public init(status: HTTPResponse.Status) { self.status = status }

    public var description: String { "the server answered \(status.code)" }
}

extension HTTPStatusError {
    /// A `Loader`'s `pause` for resources that do not exist (404) or are gone (410): 60 s. For every other error there
    /// is none, so the next request tries again.
    public static func pauseIfMissing(_ error: any Error) -> Duration? {
        guard let status = (error as? Self)?.status, status == .notFound || status == .gone else { return nil }
        return .seconds(60)
    }
}
