// This source file is part of the Optimist open source project, under the MIT licence.

// The part of Apple's MetricKit that MetricKitSource uses, with its isolation, for type-checking on Linux.

public import Foundation

public protocol MXMetricManagerSubscriber: NSObjectProtocol {
    func didReceive(_ payloads: [MXDiagnosticPayload])
}

open class MXMetricManager: NSObject, @unchecked Sendable {  // Apple's header marks it NS_SWIFT_SENDABLE.
    public static let shared = MXMetricManager()
    public func add(_ subscriber: any MXMetricManagerSubscriber) { fatalError() }
    public func remove(_ subscriber: any MXMetricManagerSubscriber) { fatalError() }
    public var pastDiagnosticPayloads: [MXDiagnosticPayload] { fatalError() }
}

open class MXDiagnosticPayload: NSObject {
    public var timeStampBegin: Date { fatalError() }
    public var timeStampEnd: Date { fatalError() }
    public var crashDiagnostics: [MXCrashDiagnostic]? { fatalError() }
    public var hangDiagnostics: [MXHangDiagnostic]? { fatalError() }
}

open class MXMetaData: NSObject {
    public var pid: pid_t { fatalError() }
}

open class MXDiagnostic: NSObject {
    public var metaData: MXMetaData { fatalError() }
    public var applicationVersion: String { fatalError() }
}

open class MXCallStackTree: NSObject {
    public func jsonRepresentation() -> Data { fatalError() }
}

open class MXCrashDiagnosticObjectiveCExceptionReason: NSObject {
    public var composedMessage: String { fatalError() }
    public var exceptionName: String { fatalError() }
}

open class MXCrashDiagnostic: MXDiagnostic {
    public var callStackTree: MXCallStackTree { fatalError() }
    public var terminationReason: String? { fatalError() }
    public var exceptionType: NSNumber? { fatalError() }
    public var signal: NSNumber? { fatalError() }
    public var exceptionReason: MXCrashDiagnosticObjectiveCExceptionReason? { fatalError() }
}

open class MXHangDiagnostic: MXDiagnostic {
    public var callStackTree: MXCallStackTree { fatalError() }
}
