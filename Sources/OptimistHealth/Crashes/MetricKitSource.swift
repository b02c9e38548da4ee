// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(MetricKit)
    public import Foundation
    public import MetricKit
    import OptimistCore
    import OptimistWire

    /// Reads crashes and hangs from Apple's MetricKit, which usually reports them at the next launch.
    ///
    /// The system keeps delivered reports, so none is lost if the app ends before counting it.
    public final class MetricKitSource: NSObject, CrashSource, MXMetricManagerSubscriber {
        private let ownImages: Set<String>
        private let arrived = Mutex<[CrashReport]>([])

        /// Subscribes to MetricKit's diagnostics until this object is released.
        ///
        /// - Parameter ownImages: The names of the binaries whose frames are kept. Default: the app's executable.
        public init(ownImages: Set<String> = [Bundle.main.executableURL?.lastPathComponent ?? ""]) {
            self.ownImages = ownImages
            super.init()
            MXMetricManager.shared.add(self)
        }

        deinit { MXMetricManager.shared.remove(self) }

        /// Collects delivered diagnostics, on any thread.
        public func didReceive(_ payloads: [MXDiagnosticPayload]) {
            let reports = payloads.flatMap(reports)
            arrived.withLock { $0 += reports }
        }

        public func reports() async throws -> [CrashReport] {
            let past = MXMetricManager.shared.pastDiagnosticPayloads.flatMap(reports)
            return arrived.withLock { $0 } + past
        }

        public func forget(_ reports: [CrashReport]) async {
            let ids = Set(reports.map(\.id))
            arrived.withLock { $0.removeAll { ids.contains($0.id) } }
        }

        private func reports(_ payload: MXDiagnosticPayload) -> [CrashReport] {
            let end = payload.timeStampEnd
            // Derived from the payload, so a repeated delivery has the same ids.
            let name = "\(Int64(payload.timeStampBegin.timeIntervalSince1970))-\(Int64(end.timeIntervalSince1970))"
            let crashes = (payload.crashDiagnostics ?? []).enumerated().map { index, crash in
                CrashReport(
                    id: "crash-\(name)-\(index)", kind: .crash, process: crash.metaData.pid, date: end,
                    signature: signature(crash))
            }
            let hangs = (payload.hangDiagnostics ?? []).enumerated().map { index, hang in
                CrashReport(
                    id: "hang-\(name)-\(index)", kind: .hang, process: hang.metaData.pid, date: end,
                    signature: CrashSignature(kind: "Hang", frames: frames(hang.callStackTree, beginsInnermost: false)))
            }
            return crashes + hangs
        }

        private func signature(_ crash: MXCrashDiagnostic) -> CrashSignature {
            let frames = frames(crash.callStackTree, beginsInnermost: true)
            if let reason = crash.exceptionReason {
                return CrashSignature(kind: reason.exceptionName, message: reason.composedMessage, frames: frames)
            }
            let exception = crash.exceptionType.map { "exception \($0)" }
            let signal = crash.signal.map { "signal \($0)" }
            let kind = [exception, signal].compactMap(\.self).joined(separator: ", ")
            return CrashSignature(
                kind: kind.isEmpty ? "Crash" : kind, message: crash.terminationReason ?? "", frames: frames)
        }

        private func frames(_ tree: MXCallStackTree, beginsInnermost: Bool) -> [CrashSignature.Frame] {
            let stack = try? JSONDecoder().decode(MetricKitStack.self, from: tree.jsonRepresentation())
            return stack?.ownFrames(of: ownImages, beginsInnermost: beginsInnermost) ?? []
        }
    }
#endif
