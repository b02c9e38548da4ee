// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import HTTPTypes
public import OptimistCore
public import OptimistLoading
public import OptimistSession

/// Downloads what a loader wants, with the credential of a session, or without one from any host.
///
/// If a value is here already, the request asks by its `ETag` or `Last-Modified`. A download that breaks off goes on
/// where it was, if the server can. The answer's `Cache-Control` says how long a value is right, unless the app says
/// otherwise.
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

    /// - Parameters:
    ///   - session: Sends the requests. Its server's origin is the only one that can be asked.
    ///   - limitBytes: The most bytes accepted as an answer. Default: 32 MiB.
    ///   - validity: How long an answer is right. It gets the answer's head and what that says itself. Default: that.
    ///   - isKeptOnDisk: Whether a disk may keep an answer. It gets the answer's head and what that says itself: no for
    ///     `no-store`. Default: that.
    ///   - now: The time of day.
    public init(
        _ session: Session, limitBytes: Int = 32 << 20,
        validity: @escaping @Sendable (HTTPResponse, Validity) -> Validity = { _, validity in validity },
        isKeptOnDisk: @escaping @Sendable (HTTPResponse, Bool) -> Bool = { _, isAllowed in isAllowed },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(.session(session), limitBytes, validity, isKeptOnDisk, now)
    }

    /// Makes a source that asks any host, without a credential: for a CDN, say. It follows up to five redirects, but none from
    /// https to http, and sends a request up to three times if no answer comes.
    ///
    /// - Parameters:
    ///   - transport: Carries the requests. Both of the package's unpack gzip.
    ///   - limitBytes: The most bytes accepted as an answer. Default: 32 MiB.
    ///   - validity: How long an answer is right. It gets the answer's head and what that says itself. Default: that.
    ///   - isKeptOnDisk: Whether a disk may keep an answer. It gets the answer's head and what that says itself. Default: that.
    ///   - now: The time of day.
    ///   - dependencies: Time and chance, for retries.
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

    /// Where values come from.
    private enum Origin: Sendable {
        case session(Session)
        case anyHost(OpenRequests)
    }

    /// The longest silence in the middle of a download.
    private static let idleTimeout = Duration.seconds(30)
    /// How often a download that breaks off is taken up again, in all.
    private static let mostBreaks = 3

    /// Downloads a value.
    ///
    /// - Parameters:
    ///   - fetch: What the loader wants. It is told of the progress.
    ///   - target: With a session, a path with its query, or a whole URL on the server's own origin. Without one, a whole URL.
    ///   - decode: Makes the value of its bytes, off the main actor.
    /// - Returns: The value with its bytes, which the disk keeps unless the server forbids it and the app does not
    ///   allow it; or that it is unchanged.
    /// - Throws: ``HTTPStatusError``; `TransportError` when no whole answer came; what `Session.send(_:)` throws, or
    ///   without a session `OptimistError` with code `noAddress` or `badRedirect`; what `decode` throws; `CancellationError`.
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

    /// The validity that an answer gives its value. If the answer omits the tag, the date or the lifetime, the one from
    /// before stays.
    private func validity(_ head: HTTPResponse, _ former: Validity?) -> Validity {
        self.validity(head, CacheControl(head).validity(at: now(), former: former?.lifetime).confirming(former))
    }
}

/// A download between its attempts.
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
    /// Whether the connection was lost in the middle of an answer.
    fileprivate var isBreak: Bool { phase == .responseStarted && (kind == .broken || kind == .timedOut) }
}
