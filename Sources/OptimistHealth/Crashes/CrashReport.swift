// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// A report of a crash or a hang.
public struct CrashReport: Hashable, Sendable {
    /// Whether the app ended.
    public enum Kind: String, Hashable, Sendable, Codable {
        /// The app ended.
        case crash
        /// The app was unresponsive for a while, then continued.
        case hang
    }

    /// The report's id, unique within its source and the same at every launch.
    public var id: String
    /// Whether the app ended.
    public var kind: Kind
    /// The id of the process.
    public var process: Int32
    /// The time of the event, if the source knows it.
    public var date: Date?
    /// The event and its place in the code.
    public var signature: CrashSignature

    /// Creates a report, and removes values from the signature: see ``SafeMessage``.
    public init(id: String, kind: Kind, process: Int32, date: Date?, signature: CrashSignature) {
        self.id = id
        self.kind = kind
        self.process = process
        self.date = date
        self.signature = SafeMessage.cut(signature)
    }
}

/// A source of crash reports. A source only reads reports that something else has written; it does not handle crashes.
///
/// To use another crash reporter, adapt it with a type like this:
///
/// ```swift
/// struct KSCrashSource: CrashSource {
///     func reports() async throws -> [CrashReport] { … }          // from its report store
///     func forget(_ reports: [CrashReport]) async { … }           // deletes them there
/// }
/// ```
public protocol CrashSource: Sendable {
    /// Returns the available reports, including those that it returned before.
    ///
    /// - Throws: Any error. The error is logged, and the source is asked again later.
    func reports() async throws -> [CrashReport]
    /// Removes reports that were durably counted. If a source cannot remove them, it may return them again.
    func forget(_ reports: [CrashReport]) async
}

extension CrashSource {
    /// Removes nothing.
    public func forget(_ reports: [CrashReport]) async {}
}
