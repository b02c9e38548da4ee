// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistCore
import Synchronization

/// The time by which the server lets sessions and tokens expire and sweeps what may be forgotten.
///
/// The data keeps the highest time that a server has seen. A clock that leaps by more than a day is not believed until it is
/// back, or until an operator agrees to it: see ``ServerConfiguration/acceptedTime``. Rows are stamped by the clock as it is.
///
/// > Source: Documentation/Promises.md, O14.
final class ServerTime: Sendable {
    private let trust: Mutex<TimeTrust>
    private let now: @Sendable () -> Date
    private let elapsed: @Sendable () -> Duration
    private let logger: Logger
    /// Whether an operator has agreed to the present time, and the data does not say so yet.
    private let replacesHighest: Mutex<Bool>

    /// - Parameters:
    ///   - highest: The highest time that the data has seen, in seconds since 1970. Nil: none.
    ///   - accepted: The time that an operator says it is. It counts if it is less than a day and a half off.
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
                "The time that the operator agrees to is not the server's, so it does not count.",
                metadata: ["time": "\(present.utcText)"])
        }
        look(atStart: true)
    }

    /// The time as far as it is believed.
    func believed() -> Date {
        let (now, elapsed) = (now().timeIntervalSince1970, elapsed().seconds)
        let (time, news) = trust.withLock { $0.time(at: now, elapsed: elapsed) }
        tell(news)
        return Date(timeIntervalSince1970: time)
    }

    /// Looks at the clock, and returns whether it is not believed.
    @discardableResult
    func look(atStart isStart: Bool = false) -> Bool {
        let (now, elapsed) = (now().timeIntervalSince1970, elapsed().seconds)
        let (news, isHeld) = trust.withLock { ($0.look(at: now, elapsed: elapsed), $0.isHeld) }
        tell(news, atStart: isStart)
        return isHeld
    }

    /// Writes the time down in the data, unless it is not believed. A time to which an operator has agreed replaces a later
    /// one.
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
                    "The clock is elsewhere than where the data left it: no server ran, or the clock leapt.",
                    metadata: metadata)
            } else {
                logger.warning("The server's clock leapt.", metadata: metadata)
            }
        case .held(let seconds):
            logger.error(
                """
                The server's clock is more than a day away from the last time in the data. Nothing is swept, and no session \
                expires by it. Set the clock right. If it is right, because no server ran for so long or this is a backup, \
                restart the server with --accept-time and the present day.
                """, metadata: ["leap.seconds": "\(Int(seconds))"])
        case .back: logger.notice("The server's clock is right again. Sweeping goes on.")
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
