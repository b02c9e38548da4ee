// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
import HTTPTypes
import OptimistCore

/// File bodies, read and written in chunks.
extension Session {
    /// Downloads the body of an answer into a file.
    ///
    /// The body is written to a hidden file in the same folder. When the hidden file is complete and on disk, it
    /// replaces `file`. If the download fails or is cancelled, the hidden file is removed and `file` is not changed.
    /// Like ``stream(_:idleTimeout:_:)``, a download does not use a slot and has no deadline.
    ///
    /// - Parameters:
    ///   - request: The request. ``SessionRequest/maxResponseBytes`` applies only to an unsuccessful answer.
    ///   - file: The file to write. Its folder must exist.
    ///   - idleTimeout: The longest silence within the body; detection may take up to twice as long. Default: 30 s.
    /// - Returns: The answer. If it is successful, the body is in the file and ``SessionResponse/body`` is empty.
    ///   Otherwise the body is in the answer, and `file` is not changed.
    /// - Throws: As ``send(_:)``; ``TransportError`` if the body breaks off or is an unrequested range; `OptimistError`
    ///   with code `fileUnwritable`.
    public func download(
        _ request: SessionRequest, to file: URL, idleTimeout: Duration = .seconds(30)
    ) async throws -> SessionResponse {
        let partial = try PartialFile(of: file, makeID: dependencies.makeID)
        // A write after cancellation goes to an unlinked file.
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

    /// Sends a file as the body of a request and returns the complete answer.
    ///
    /// Each attempt reads the file again, so do not change it before this returns. An upload does not use a slot.
    ///
    /// - Parameters:
    ///   - request: The request without a body, usually PUT or POST. Its ``SessionRequest/deadline`` includes sending:
    ///     raise it for a large file. ``SessionRequest/headTimeout`` does not apply.
    ///   - file: The file to send. It may be empty.
    /// - Throws: As ``send(_:)``; `OptimistError` with code `fileUnreadable` before anything is sent.
    /// - Precondition: The request has no body.
    public func upload(_ request: SessionRequest, from file: URL) async throws -> SessionResponse {
        precondition(request.body.isEmpty, "an uploaded file replaces the body")
        _ = try FileChunks.sizeBytes(of: file)
        var upload = request
        upload.bodyFile = file
        upload.headTimeout = max(request.headTimeout, request.deadline)
        return try await send(upload)
    }
}

extension HTTPResponse {
    /// Whether a body of `count` bytes may be complete. The declared length does not apply to a body that was
    /// decompressed.
    fileprivate func allows(bodyOf count: Int, to method: HTTPRequest.Method) -> Bool {
        let encoding = headerFields[.contentEncoding]?.lowercased() ?? "identity"
        guard method != .head, encoding == "identity", let length = headerFields[.contentLength].flatMap({ Int($0) })
        else { return true }
        return length == count
    }
}

/// A file that is being written, and replaces another file when it is complete.
private final class PartialFile: Sendable {
    private let target: URL
    private let url: URL
    private let handle: FileHandle

    init(of target: URL, makeID: () -> UUID) throws {
        self.target = target
        // Omits the target's name, which may already have the maximum length.
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

    /// Does nothing after the file has replaced its target.
    func remove() { unlink(url.path) }
}
