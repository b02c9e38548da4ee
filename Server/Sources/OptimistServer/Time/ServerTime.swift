// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import Synchronization

/// The time for expiring sessions and tokens and for sweeping old data.
///
/// The data stores the highest time that a server has seen. If the clock leaps by more than a day, the server does not
/// trust it until it is correct again or an operator confirms it, see ``ServerConfiguration/acceptedTime``. Rows get
/// the clock's own time.
///
/// > Source: Documentation/Promises.md, O14.
final class ServerTime: Sendable {
    private let trust: Mutex<TimeTrust>
    private let now: @Sendable () -> Date
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    /// Whether an operator has confirmed a time that is not saved yet.
    private let replacesHighest: Mutex<Bool>

    /// - Parameters:
    ///   - highest: The highest time in the data, in seconds since 1970.
    ///   - accepted: The time that an operator confirmed. Ignored if it differs from the clock by a day and a half or
    ///     more.
    ///   - elapsed: Returns the time since a fixed moment.
    init(
        highest: Double?, accepted: Date?, now: @escaping @Sendable () -> Date,
        elapsed: @escaping @Sendable () -> Duration, logger: Logger
    ) {
        let present = now()
        let isAccepted = accepted.map { abs($0.timeIntervalSince(present)) < 1.5 * 86_400 } ?? false
        replacesHighest = Mutex(isAccepted)
        trust = Mutex(
            TimeTrust(
                highest: isAccepted ? nil : highest, now: present.timeIntervalSince1970, elapsed: elapsed().seconds))
        self.now = now
        self.elapsed = elapsed
        self.logger = logger
        if accepted != nil, !isAccepted {
            logger.warning(
                "The operator confirmed a time that differs from the server's clock, so the confirmation is ignored.",
                metadata: ["time": "\(present.utcText)"])
        }
        look(atStart: true)
    }

    func believed() -> Date {
        let (now, elapsed) = (now().timeIntervalSince1970, elapsed().seconds)
        let (time, news) = trust.withLock { $0.time(at: now, elapsed: elapsed) }
        tell(news)
        return Date(timeIntervalSince1970: time)
    }

    /// Returns true if the clock is not trusted.
    @discardableResult
    func look(atStart isStart: Bool = false) -> Bool {
        let (now, elapsed) = (now().timeIntervalSince1970, elapsed().seconds)
        let (news, isHeld) = trust.withLock { ($0.look(at: now, elapsed: elapsed), $0.isHeld) }
        tell(news, atStart: isStart)
        return isHeld
    }

    /// Saves the time if the clock is trusted. A time that an operator confirmed may replace a later one.
    func keep(in storage: OpenedStorage) async throws {
        guard !look() else { return }
        try await storage.keepTime(believed().timeIntervalSince1970, replacesHighest.withLock { $0 })
        replacesHighest.withLock { $0 = false }
    }

    private func tell(_ news: TimeTrust.News?, atStart: Bool = false) {
        switch news {
        case nil: break
        case .leapt(let seconds):
            let metadata: Logger.Metadata = ["leap.seconds": "\(Int(seconds))"]
            if atStart {
                logger.notice(
                    "The clock differs from the last time in the data: no server was running, or the clock jumped.",
                    metadata: metadata)
            } else {
                logger.warning("The server's clock jumped.", metadata: metadata)
            }
        case .held(let seconds):
            logger.error(
                """
                The server's clock is more than a day away from the last time in the data. The server does not delete \
                old data or expire sessions by this clock. Correct the clock. If it is right, because no server ran \
                for long or this is a backup, restart the server with --accept-time and today's date.
                """, metadata: ["leap.seconds": "\(Int(seconds))"])
        case .back: logger.notice("The server's clock is correct again. The server resumes removing old data.")
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
