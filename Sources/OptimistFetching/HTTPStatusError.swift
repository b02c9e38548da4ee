// This source file is part of the Optimist open source project, under the MIT licence.

public import HTTPTypes

/// A server has answered, and not with what was asked for.
public struct HTTPStatusError: Error, Sendable, Equatable, CustomStringConvertible {
    public let status: HTTPResponse.Status

    public init(status: HTTPResponse.Status) { self.status = status }

    public var description: String { "the server answered \(status.code)" }
}

extension HTTPStatusError {
    /// A `Loader`'s `pause` for what does not exist (404) or is gone (410): a minute. For all else none, so that
    /// the next who asks tries again.
    public static func pauseIfMissing(_ error: any Error) -> Duration? {
        guard let status = (error as? Self)?.status, status == .notFound || status == .gone else { return nil }
        return .seconds(60)
    }
}
