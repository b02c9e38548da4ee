// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import Synchronization

/// The time that the server uses to expire sessions and tokens and to sweep old data.
///
/// The data stores the highest time that a server has seen. If the clock leaps by more than a day, the server does not
/// trust it until it is correct again or an operator confirms it, see ``ServerConfiguration/acceptedTime``. Rows always
/// get the clock's own time.
///
/// > Source: Documentation/Promises.md, O14.
final class ServerTime: Sendable {
    private let trust: Mutex<TimeTrust>
    private let now: @Sendable () -> Date
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    /// Whether an operator has confirmed the current time and the data does not reflect this yet.
    private let replacesHighest: Mutex<Bool>

    /// - Parameters:
    ///   - highest: The highest time stored in the data, in seconds since 1970. Nil if there is none.
    ///   - accepted: The time as confirmed by an operator. Ignored if it differs from the clock by a day and a half or
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
                "The operator confirmed a time that is not the server's, so the confirmation is ignored.",
                metadata: ["time": "\(present.utcText)"])
        }
        look(atStart: true)
    }

    /// Returns the trusted time.
    func believed() -> Date {
        let (now, elapsed) = (now().timeIntervalSince1970, elapsed().seconds)
        let (time, news) = trust.withLock { $0.time(at: now, elapsed: elapsed) }
        tell(news)
        return Date(timeIntervalSince1970: time)
    }

    /// Checks the clock. Returns true if it is not trusted.
    @discardableResult
    func look(atStart isStart: Bool = false) -> Bool {
        let (now, elapsed) = (now().timeIntervalSince1970, elapsed().seconds)
        let (news, isHeld) = trust.withLock { ($0.look(at: now, elapsed: elapsed), $0.isHeld) }
        tell(news, atStart: isStart)
        return isHeld
    }

    /// Saves the time in the data, unless the clock is not trusted. A time that an operator confirmed may replace a
    /// later one.
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
                    "The clock differs from the last time in the data: no server was running, or the clock leapt.",
                    metadata: metadata)
            } else {
                logger.warning("The server's clock leapt.", metadata: metadata)
            }
        case .held(let seconds):
            logger.error(
                """
                The server's clock is more than a day away from the last time in the data. The server deletes no \
                old data and expires no sessions by this clock. Correct it. If it is right, because no server ran for long or \
                this is a backup, restart the server with --accept-time and today's date.
                """, metadata: ["leap.seconds": "\(Int(seconds))"])
        case .back: logger.notice("The server's clock is correct again. Sweeping resumes.")
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
