// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Darwin) || CheckURLSessionTransport
    import Foundation
    import HTTPTypes
    import OptimistCore

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    /// The received but unread chunks of one exchange. Supports one reader at a time.
    final class Inbox: Sendable {
        private struct State {
            var head: HTTPResponse?
            var chunks: [[UInt8]] = []
            var waitingBytes = 0
            var isSuspended = false
            /// Nil while the exchange is running.
            var end: Result<Void, any Error>?
            var reader: CheckedContinuation<Void, Never>?
        }

        /// Receiving is suspended while there are more unread bytes than this.
        private static let highWaterBytes = 1 << 20

        private let state = Mutex(State())
        private let task: URLSessionTask

        init(_ task: URLSessionTask) { self.task = task }

        deinit { task.cancel() }

        func receive(_ head: HTTPResponse) { change { $0.head = head } }

        func receive(_ chunk: [UInt8]) {
            change { state in
                state.chunks.append(chunk)
                state.waitingBytes += chunk.count
                guard state.waitingBytes > Self.highWaterBytes, !state.isSuspended else { return }
                state.isSuspended = true
                // Suspends under the lock, so that a later resumption cannot overtake it.
                task.suspend()
            }
        }

        func finish(_ error: (any Error)?) {
            change { state in
                if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
            }
        }

        /// Ends an exchange without a reader.
        func abandon(_ reason: any Error = CancellationError()) {
            finish(reason)
            task.cancel()
        }

        func head() async throws -> HTTPResponse {
            while true {
                let (head, end) = state.withLock { ($0.head, $0.end) }
                if let head { return head }
                if let end { throw try Self.translating(end, .maybeProcessed) }
                await somethingNew { $0.head != nil }
            }
        }

        func nextChunk() async throws -> [UInt8]? {
            while true {
                let (chunk, end) = state.withLock { state in
                    let chunk = state.chunks.isEmpty ? nil : state.chunks.removeFirst()
                    state.waitingBytes -= chunk?.count ?? 0
                    if state.isSuspended, state.waitingBytes < Self.highWaterBytes / 2 {
                        state.isSuspended = false
                        task.resume()
                    }
                    return (chunk, state.end)
                }
                if let chunk { return chunk }
                switch end {
                case .success: return nil
                case .failure: throw try Self.translating(end ?? .success(()), .responseStarted)
                case nil: await somethingNew { !$0.chunks.isEmpty }
                }
            }
        }

        @discardableResult
        private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
            let (value, reader) = state.withLock { state in
                let value = body(&state)
                defer { state.reader = nil }
                return (value, state.reader)
            }
            reader?.resume()
            return value
        }

        private func somethingNew(_ isThere: (borrowing State) -> Bool) async {
            await withCheckedContinuation { reader in
                let isReady = state.withLock { state in
                    if isThere(state) || state.end != nil { return true }
                    state.reader = reader
                    return false
                }
                if isReady { reader.resume() }
            }
        }

        private static func translating(
            _ end: Result<Void, any Error>, _ phase: TransportError.Phase
        ) throws -> TransportError {
            guard case .failure(let error) = end else { return TransportError(.broken, phase) }
            if Task.isCancelled || error is CancellationError { throw CancellationError() }
            if let error = error as? TransportError { return error }
            guard let error = error as? URLError else { return TransportError(.broken, phase, cause: error) }
            return switch error.code {
            case .cannotConnectToHost: TransportError(.refused, .notSent, cause: error)
            case .cannotFindHost, .dnsLookupFailed: TransportError(.unresolvable, .notSent, cause: error)
            case .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff, .callIsActive:
                TransportError(.unreachable, .notSent, cause: error)
            case .timedOut: TransportError(.timedOut, phase, cause: error)
            case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
                .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
                .clientCertificateRequired:
                TransportError(.untrusted, .notSent, cause: error)
            case .appTransportSecurityRequiresSecureConnection:
                TransportError(.unsupported, .notSent, cause: error)
            default: TransportError(.broken, phase, cause: error)
            }
        }
    }

    /// An inbox's chunks in order. Cancelling the reader ends the exchange.
    struct InboxChunks: AsyncSequence, Sendable {
        let inbox: Inbox

        func makeAsyncIterator() -> Iterator { Iterator(inbox: inbox) }

        struct Iterator: AsyncIteratorProtocol {
            let inbox: Inbox

            mutating func next() async throws -> [UInt8]? {
                let inbox = inbox
                return try await withTaskCancellationHandler {
                    try await inbox.nextChunk()
                } onCancel: {
                    inbox.abandon()
                }
            }
        }
    }
#endif
