// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import HTTPTypes
import OptimistCore

/// Bodies that are files. They are read and written in pieces and are never in memory as a whole.
extension Session {
    /// Downloads the body of an answer into a file.
    ///
    /// The body goes to a hidden file in the same folder, which takes the place of `file` once it is whole and on the disk.
    /// If the download fails or is cancelled, that file is removed, and what was at `file` stays. A download takes none of
    /// the slots and has no deadline, like ``stream(_:idleTimeout:_:)``.
    ///
    /// - Parameters:
    ///   - request: What to send. ``SessionRequest/maxResponseBytes`` counts only for an answer without success.
    ///   - file: The file to write. Its folder must exist.
    ///   - idleTimeout: The longest silence in the middle of the body, up to twice that. Default: 30 s.
    /// - Returns: The answer. If its status is that of a success, the body is in the file and ``SessionResponse/body`` is
    ///   empty. Otherwise the body is in the answer, and `file` is as it was.
    /// - Throws: As ``send(_:)``; ``TransportError`` if the body breaks off, or is a part that was not asked for;
    ///   `OptimistError` with code `fileUnwritable`.
    public func download(
        _ request: SessionRequest, to file: URL, idleTimeout: Duration = .seconds(30)
    ) async throws -> SessionResponse {
        let partial = try PartialFile(of: file, makeID: dependencies.makeID)
        // What still writes after a cancellation writes into a file without a name.
        defer { partial.remove() }
        let answer = try await stream(request, idleTimeout: idleTimeout) { head, body in
            guard head.status.kind == .successful else {
                return SessionResponse(head: head, body: try await body.collect(upTo: request.maxResponseBytes))
            }
            if head.status == .partialContent, request.headerFields[.range] == nil {
                throw TransportError(.broken, .responseStarted)
            }
            var count = 0
            for try await chunk in body {
                try partial.write(chunk)
                count += chunk.count
            }
            guard head.allows(bodyOf: count, to: request.method) else {
                throw TransportError(.broken, .responseStarted)
            }
            return SessionResponse(head: head)
        }
        if answer.status.kind == .successful { try partial.takePlace() }
        return answer
    }

    /// Sends a file as the body of a request, and returns the whole answer.
    ///
    /// Each attempt reads the file again, so it must not change before this returns. An upload takes none of the slots.
    ///
    /// - Parameters:
    ///   - request: What to send, without a body. Its method is usually PUT or POST. Its ``SessionRequest/deadline`` counts
    ///     for the sending too: raise it for a large file. ``SessionRequest/headTimeout`` does not count.
    ///   - file: The file to send. It may be empty.
    /// - Throws: As ``send(_:)``; `OptimistError` with code `fileUnreadable`, and nothing was sent.
    /// - Precondition: The request has no body.
    public func upload(_ request: SessionRequest, from file: URL) async throws -> SessionResponse {
        precondition(request.body.isEmpty, "a request has one body")
        _ = try FileChunks.sizeBytes(of: file)
        var upload = request
        upload.bodyFile = file
        upload.headTimeout = max(request.headTimeout, request.deadline)
        return try await send(upload)
    }
}

extension HTTPResponse {
    /// Whether a body of so many bytes may be the whole of it. The length differs for a body that is unpacked on the way.
    fileprivate func allows(bodyOf count: Int, to method: HTTPRequest.Method) -> Bool {
        let encoding = headerFields[.contentEncoding]?.lowercased() ?? "identity"
        guard method != .head, encoding == "identity", let length = headerFields[.contentLength].flatMap({ Int($0) })
        else { return true }
        return length == count
    }
}

/// A file that is being written, and takes the place of another once it is whole.
private final class PartialFile: Sendable {
    private let target: URL
    private let url: URL
    private let handle: FileHandle

    init(of target: URL, makeID: () -> UUID) throws {
        self.target = target
        // Without the target's name, which may be as long as a name can be.
        url = target.deletingLastPathComponent().appending(path: ".\(makeID().uuidString).partial")
        guard FileManager.default.createFile(atPath: url.path, contents: nil) else {
            throw OptimistError.unwritable(target, nil)
        }
        do { handle = try FileHandle(forWritingTo: url) } catch {
            try? FileManager.default.removeItem(at: url)
            throw OptimistError.unwritable(target, error)
        }
    }

    func write(_ bytes: [UInt8]) throws {
        do { try handle.write(contentsOf: bytes) } catch { throw OptimistError.unwritable(target, error) }
    }

    func takePlace() throws {
        do {
            try handle.synchronize()
            guard rename(url.path, target.path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        } catch { throw OptimistError.unwritable(target, error) }
    }

    /// Does nothing once it has taken its place.
    func remove() { unlink(url.path) }
}
