// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes
public import OptimistCore
public import OptimistLoading
public import OptimistSession

/// Downloads values for a loader: with a session's credential, or from any host without a credential.
///
/// If the loader already has a value, the request is conditional on its `ETag` or `Last-Modified`. An interrupted
/// download resumes where it stopped if the server supports it. The response's `Cache-Control` decides how long a value
/// is fresh, unless the app decides otherwise.
///
/// ```swift
/// let source = HTTPSource(session)
/// let pictures = Loader<String, Picture>(failureTTL: HTTPStatusError.pauseIfMissing) { fetch in
///     try await source.fetch(fetch, from: "/pictures/\(fetch.key)") { try Picture(decoding: $0) }
/// }
/// ```
public struct HTTPSource: Sendable {
    private let origin: Origin
    private let limitBytes: Int
    private let validity: @Sendable (HTTPResponse, Validity) -> Validity
    private let isKeptOnDisk: @Sendable (HTTPResponse, Bool) -> Bool
    private let now: @Sendable () -> Date

    /// Creates a source that sends requests through a session.
    ///
    /// - Parameters:
    ///   - session: Sends the requests. Only its server's origin can be requested.
    ///   - limitBytes: The most bytes accepted in a response. Default: 32 MiB.
    ///   - validity: Returns how long a response is fresh, given its head and the validity from its headers. Default:
    ///     the validity from its headers.
    ///   - isKeptOnDisk: Returns whether a response may be stored on disk, given its head and whether its headers allow
    ///     it (`no-store` does not). Default: if its headers allow it.
    ///   - now: The time of day.
    public init(
        _ session: Session, limitBytes: Int = 32 << 20,
        validity: @escaping @Sendable (HTTPResponse, Validity) -> Validity = { _, validity in validity },
        isKeptOnDisk: @escaping @Sendable (HTTPResponse, Bool) -> Bool = { _, isAllowed in isAllowed },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(.session(session), limitBytes, validity, isKeptOnDisk, now)
    }

    /// Creates a source that sends requests to any host, such as a CDN, without a credential.
    ///
    /// It follows up to five redirects, but none from https to http, and sends a request up to three times if no
    /// response arrives.
    ///
    /// - Parameters:
    ///   - transport: Carries the requests. Both transports of this package decompress gzip.
    ///   - limitBytes: The most bytes accepted in a response. Default: 32 MiB.
    ///   - validity: As for a source with a session.
    ///   - isKeptOnDisk: As for a source with a session.
    ///   - now: The time of day.
    ///   - dependencies: The clock and randomness for retries.
    public init(
        _ transport: any Transport, limitBytes: Int = 32 << 20,
        validity: @escaping @Sendable (HTTPResponse, Validity) -> Validity = { _, validity in validity },
        isKeptOnDisk: @escaping @Sendable (HTTPResponse, Bool) -> Bool = { _, isAllowed in isAllowed },
        now: @escaping @Sendable () -> Date = { Date() }, dependencies: Dependencies = Dependencies()
    ) {
        let requests = OpenRequests(transport: transport, dependencies: dependencies)
        self.init(.anyHost(requests), limitBytes, validity, isKeptOnDisk, now)
    }

    private init(
        _ origin: Origin, _ limitBytes: Int, _ validity: @escaping @Sendable (HTTPResponse, Validity) -> Validity,
        _ isKeptOnDisk: @escaping @Sendable (HTTPResponse, Bool) -> Bool, _ now: @escaping @Sendable () -> Date
    ) {
        self.origin = origin
        self.limitBytes = limitBytes
        self.validity = validity
        self.isKeptOnDisk = isKeptOnDisk
        self.now = now
    }

    private enum Origin: Sendable {
        case session(Session)
        case anyHost(OpenRequests)
    }

    /// The longest silence in the middle of a download.
    private static let idleTimeout = Duration.seconds(30)
    /// How many times one download may be resumed or restarted.
    private static let mostBreaks = 3

    /// Downloads a value.
    ///
    /// - Parameters:
    ///   - fetch: The loader's request. It receives the progress.
    ///   - target: With a session, a path with its query, or an absolute URL on the server's origin. Without a session,
    ///     an absolute URL.
    ///   - decode: Decodes the value from its bytes, off the main actor.
    /// - Returns: The value with its bytes, or the confirmation that the loader's value is unchanged.
    /// - Throws: ``HTTPStatusError``; `TransportError` if no complete response arrived; errors of `Session.send(_:)`,
    ///   or without a session `OptimistError` with code `noAddress` or `badRedirect`; errors of `decode`;
    ///   `CancellationError`.
    public func fetch<Key, Value>(
        _ fetch: Fetch<Key, Value>, from target: String, decode: @escaping @Sendable ([UInt8]) async throws -> Value
    ) async throws -> Fetched<Value> {
        let running = Running(Download(former: fetch.previous, limitBytes: limitBytes))
        var breaks = 0
        while true {
            do {
                let meaning = try await ask(target, running.download.fields) { head, body in
                    try await running.take(head, body) { fetch.report($0) }
                }
                let download = running.download
                switch (meaning, download.head) {
                case (.unchanged, let head?):
                    return .unchanged(
                        validity(head, fetch.previous), isKeptOnDisk: isKeptOnDisk(head, download.mayBeStored))
                case (.bytes, let head?):
                    return Fetched(
                        try await decode(download.bytes), validity: validity(head, nil), bytes: download.bytes,
                        isKeptOnDisk: isKeptOnDisk(head, download.mayBeStored))
                case (_, nil), (.useless, _): breaks += 1
                }
            } catch let error as TransportError where error.isBreak && breaks < Self.mostBreaks {
                guard running.download.canGoOn else { throw error }
                breaks += 1
            }
            if breaks > Self.mostBreaks { throw TransportError(.broken, .responseStarted) }
        }
    }

    private func ask(
        _ target: String, _ fields: HTTPFields,
        _ consume: @escaping @Sendable (HTTPResponse, ResponseBody) async throws -> Download.Head
    ) async throws -> Download.Head {
        switch origin {
        case .session(let session):
            let request = SessionRequest(target, headerFields: fields, maxResponseBytes: limitBytes)
            return try await session.stream(request, idleTimeout: Self.idleTimeout, consume)
        case .anyHost(let requests):
            return try await requests.send(target, fields, idleTimeout: Self.idleTimeout, consume)
        }
    }

    /// If the response omits the tag, the date or the lifetime, the previous one is kept.
    private func validity(_ head: HTTPResponse, _ former: Validity?) -> Validity {
        self.validity(head, CacheControl(head).validity(at: now(), former: former?.lifetime).confirming(former))
    }
}

private final class Running: Sendable {
    private let state: Mutex<Download>

    init(_ download: Download) { state = Mutex(download) }

    var download: Download { state.withLock { $0 } }

    func take(
        _ head: HTTPResponse, _ body: ResponseBody, _ report: @Sendable (Double) -> Void
    ) async throws -> Download.Head {
        let meaning = try state.withLock { try $0.begin(head) }
        guard meaning == .bytes else { return meaning }
        for try await chunk in body {
            let progress = try state.withLock { download in
                try download.append(chunk)
                return download.progress
            }
            if let progress { report(progress) }
        }
        guard state.withLock({ $0.isWhole }) else { throw TransportError(.broken, .responseStarted) }
        return .bytes
    }
}

extension TransportError {
    /// Whether the connection was lost in the middle of a response.
    fileprivate var isBreak: Bool { phase == .responseStarted && (kind == .broken || kind == .timedOut) }
}
