// This source file is part of the Optimist open source project, under the MIT licence.

public import Foundation
public import OptimistWire

/// What a source knows of a crash, or of a hang.
public struct CrashReport: Hashable, Sendable {
    /// Whether the app ended by it.
    public enum Kind: String, Hashable, Sendable, Codable {
        /// The app ended.
        case crash
        /// The app did not react to its user for a while, and went on.
        case hang
    }

    /// Names the report among those of its source: the same report has the same id at every launch.
    public var id: String
    /// Whether the app ended by it.
    public var kind: Kind
    /// The process that it happened in.
    public var process: Int32
    /// When it happened, as far as the source knows.
    public var date: Date?
    /// What happened, and where.
    public var signature: CrashSignature

    /// Makes a report.
    ///
    /// The initializer removes values from the signature: see ``SafeMessage``.
    public init(id: String, kind: Kind, process: Int32, date: Date?, signature: CrashSignature) {
        self.id = id
        self.kind = kind
        self.process = process
        self.date = date
        self.signature = SafeMessage.cut(signature)
    }
}

/// Knows why and where the app crashed. Each source reads what something else has written: none handles a crash itself.
///
/// A crash reporter of another kind is adapted by a type of yours:
///
/// ```swift
/// struct KSCrashSource: CrashSource {
///     func reports() async throws -> [CrashReport] { … }          // from its report store
///     func forget(_ reports: [CrashReport]) async { … }           // deletes them there
/// }
/// ```
public protocol CrashSource: Sendable {
    /// Returns the reports that are there, also those that it returned before.
    ///
    /// - Throws: Any error. It is logged, and the source is asked again later.
    func reports() async throws -> [CrashReport]
    /// Removes reports, which are counted durably. A source that cannot do so may go on returning them.
    func forget(_ reports: [CrashReport]) async
}

extension CrashSource {
    /// Removes nothing.
    public func forget(_ reports: [CrashReport]) async {}
}
