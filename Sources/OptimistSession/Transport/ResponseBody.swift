// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

/// The body of an answer, in chunks that are fetched on demand. It can be iterated once: a second iteration throws
/// ``TransportError`` of kind `alreadyRead`.
///
/// Releasing it, or cancelling the iterating task, closes the connection.
public struct ResponseBody: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    typealias Pull = () async throws -> [UInt8]?

    private let start: @Sendable () -> Pull
    private let reader = Reader()

    /// Wraps a transport's chunks. If the reading task is cancelled, the end of the body throws `CancellationError`.
    public init<Chunks: AsyncSequence & Sendable>(_ chunks: Chunks) where Chunks.Element == [UInt8] {
        start = {
            // Only the single reader uses the iterator, which is not Sendable.
            nonisolated(unsafe) var iterator = chunks.makeAsyncIterator()
            return {
                if let chunk = try await iterator.next() { return chunk }
                // Some streams end without an error when their task is cancelled.
                try Task.checkCancellation()
                return nil
            }
        }
    }

    /// Makes a body from bytes in memory: one chunk, or none if it is empty.
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

    /// Admits only the first reader. Iterating a transport's sequence twice often crashes the process.
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

    /// Reads the complete body.
    ///
    /// - Parameter limit: The maximum number of bytes. Reading stops as soon as there are more.
    /// - Throws: ``TransportError`` of kind `tooLarge` beyond the limit, `alreadyRead` if it has already been read; the
    ///   transport's errors; `CancellationError`.
    public func collect(upTo limit: Int) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in self {
            guard chunk.count <= limit - bytes.count else { throw TransportError(.tooLarge, .responseStarted) }
            if bytes.isEmpty { bytes = chunk } else { bytes += chunk }
        }
        return bytes
    }
}
