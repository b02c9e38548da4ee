// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The body of an answer, in chunks that are fetched when asked for. It can be iterated once: a second iteration throws
/// ``TransportError`` of kind `alreadyRead`.
///
/// Dropping it, or cancelling the task that iterates it, closes the connection below.
public struct ResponseBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    typealias Pull = () async throws -> [UInt8]?

    private let start: @Sendable () -> Pull
    private let reader = Reader()

    /// Wraps the chunks of a transport. If the task that reads is cancelled, their end throws `CancellationError`.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == [UInt8] {
        start = {
            // Only the one reader's iterator has it, and that is no value that two tasks could share.
            nonisolated(unsafe) var iterator = chunks.makeAsyncIterator()
            return {
                if let chunk = try await iterator.next() { return chunk }
                // Some streams end without an error when their task is cancelled.
                try Task.checkCancellation()
                return nil
            }
        }
    }

    /// A body that is in memory already: one chunk, or none when it is empty.
    public init(_ bytes: [UInt8]) {
        start = {
            var rest = bytes.isEmpty ? nil : bytes
            return {
                defer { rest = nil }
                return rest
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(pull: reader.isFirst() ? start() : { throw TransportError(.alreadyRead, .responseStarted) })
    }

    /// Lets the first reader read. What transports hand over often stops the process when it is iterated again.
    private final class Reader: Sendable {
        private let hasCome = Mutex(false)

        func isFirst() -> Bool {
            hasCome.withLock { hasCome in
                defer { hasCome = true }
                return !hasCome
            }
        }
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let pull: Pull

        /// Returns the next chunk, or nil after the last.
        ///
        /// - Throws: ``TransportError`` with phase `responseStarted`, or `CancellationError`.
        public mutating func next() async throws -> [UInt8]? { try await pull() }
    }

    /// Reads the whole body.
    ///
    /// - Parameter limit: The most bytes to accept. Reading stops as soon as there are more.
    /// - Throws: ``TransportError`` of kind `tooLarge` past the limit, `alreadyRead` if it was read before; whatever the
    ///   transport throws; `CancellationError`.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in self {
            guard chunk.count <= limit - bytes.count else { throw TransportError(.tooLarge, .responseStarted) }
            if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
        }
        return bytes
    }
}
