// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation

/// Admission: which requests are sent, wait or fail.
extension SessionMachine {
    mutating func arrived(_ id: RequestID, _ lane: LaneName, _ urgency: SessionRequest.Urgency) -> [Effect] {
        requests[id] = Request(lane: lane, urgency: urgency)
        return []
    }

    mutating func wants(_ id: RequestID, refused: Stamp?, now: Date) -> [Effect] {
        guard let lane = stepAside(id) else { return [.fail(id, endOfEarlierEpochs)] }
        if case .signedOut(let reason) = phase {
            requests[id] = nil
            return [.fail(id, .signedOut(reason))]
        }
        lanes[lane.rawValue].enqueue(id)
        requests[id]?.place = .queued
        return restore() + reconsiderToken(for: id, refused: refused, now: now) + pump()
    }

    /// Frees a request's slot or its place in the queue.
    mutating func vacate(_ id: RequestID, leaving: Bool) -> [Effect] {
        guard stepAside(id) != nil else { return [] }
        if leaving { requests[id] = nil }
        return pump()
    }

    /// Sends waiting requests while there are free slots and a good token.
    mutating func pump() -> [Effect] {
        guard case .signedIn(let life) = phase, life.trust == .good else { return [] }
        var effects: [Effect] = []
        for lane in lanes.indices {
            while let id = lanes[lane].admitNext() {
                requests[id]?.place = .sent
                effects.append(.grant(id, life.binding))
            }
        }
        return effects
    }

    mutating func fail(_ id: RequestID, _ failure: Failure) -> [Effect] {
        _ = stepAside(id)
        requests[id] = nil
        return [.fail(id, failure)]
    }

    /// Fails the interactive requests that wait for a token, oldest first.
    mutating func failUrgent(_ failure: Failure) -> [Effect] {
        let queued = requests.filter { $0.value.place == .queued && $0.value.urgency == .interactive }.keys.sorted()
        return queued.flatMap { fail($0, failure) }
    }

    var isAnyoneQueued: Bool { requests.values.contains { $0.place == .queued } }

    /// Fails all requests, oldest first, whether waiting, sent, or between attempts.
    mutating func failAll(_ failure: Failure) -> [Effect] {
        let all = requests.keys.sorted()
        requests = [:]
        lanes = lanes.map { Lane(slots: $0.slots) }
        return all.map { .fail($0, failure) }
    }

    /// Returns the request's lane, or nil if the session has already failed the request.
    private mutating func stepAside(_ id: RequestID) -> LaneName? {
        guard let request = requests[id] else { return nil }
        switch request.place {
        case .queued: lanes[request.lane.rawValue].leaveQueue(id)
        case .sent: lanes[request.lane.rawValue].freeSlot()
        case .aside: break
        }
        requests[id]?.place = .aside
        return request.lane
    }
}
