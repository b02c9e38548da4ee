// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import Optimist
import OptimistCore
import OptimistProxy
import OptimistServer
import OptimistSession
import OptimistWire

/// Plays the stories on one network, each scene on its own phone.
struct StoryStage: Sendable {
    let park: DevicePark
    let server: OptimistServer
    let network: NetworkConditions.Profile

    typealias Measure = StoryFigure.Measure
    private typealias Values = [Measure: Double]

    static let scenes: [[Measure]] = [
        [.todoShown], [.rowsKept], [.tokenSends, .tokenRefreshes], [.redraws], [.crashFree],
        [.firstPicture, .firstPictureRatio, .lastPicture], [.fetchesPerThing],
    ]

    func play(_ measures: [Measure]) async throws -> [StoryFigure] {
        if measures == [.crashFree] { return [try await crashFree()] }
        let old = try await values(measures, inOldWay: true)
        let new = try await values(measures, inOldWay: false)
        return measures.map { StoryFigure(measure: $0, network: network, oldWay: old[$0], optimist: new[$0]) }
    }

    private func values(_ measures: [Measure], inOldWay isOld: Bool) async throws -> Values {
        guard let measure = measures.first else { return [:] }
        let name = "\(measure.rawValue)-\(isOld ? "old" : "new")-\(network.rawValue)"
        let device = try await park.add(name, account: name)
        await device.setOldWay(isOld)
        try await device.setNetwork(NetworkConditionsPatch(profile: network))
        let phone = try await device.phone()
        let values: Values? =
            switch measure {
            case .todoShown: try await within(StoryBench.patience) { [.todoShown: try await shown(phone, isOld)] }
            case .rowsKept: try await [.rowsKept: kept(device, phone, isOld)]
            case .tokenSends, .tokenRefreshes:
                try await within(StoryBench.patience) { try await expired(device, phone, isOld) }
            case .redraws: try await within(StoryBench.patience) { [.redraws: try await redraws(device, phone, isOld)] }
            case .firstPicture, .firstPictureRatio, .lastPicture: try await pictures(device, phone, isOld)
            // Measured for both versions together, in `play(_:)`.
            case .crashFree: nil
            case .fetchesPerThing:
                try await within(StoryBench.patience) { [.fetchesPerThing: try await swipes(device, phone, isOld)] }
            }
        await device.end(.quietly)
        return values ?? [:]
    }

    // MARK: - The first and second story

    private func shown(_ phone: RunningPhone, _ isOld: Bool) async throws -> Double {
        let planner: any PlannerWriting = isOld ? OldWay(phone: phone) : phone
        var times: [Double] = []
        for number in 1...5 {
            let stopwatch = Stopwatch(ContinuousClock())
            if let written = try? await planner.add(
                LabTodo(id: UUID(), content: "Number \(number)", date: "2026-01-01"))
            {
                times.append(written.shownMs)
            } else {
                // A failed to-do is never shown. For the median, it counts as the time of the attempt plus the time
                // limit.
                times.append(stopwatch() / .milliseconds(1) + StoryBench.patience / .milliseconds(1))
            }
        }
        let middle = times.sorted()[2]
        guard middle < StoryBench.patience / .milliseconds(1) else { throw CancellationError() }
        return middle
    }

    private func kept(_ device: LabDevice, _ phone: RunningPhone, _ isOld: Bool) async throws -> Double {
        let planner: any PlannerWriting = isOld ? OldWay(phone: phone) : phone
        try await device.setNetwork(NetworkConditionsPatch(profile: .offline))
        for number in 1...StoryBench.rows {
            _ = try? await planner.add(LabTodo(id: UUID(), content: "Row \(number)", date: "2026-01-01"))
        }
        try await device.setNetwork(NetworkConditionsPatch(profile: network))
        let account = try await park.serverAccount(named: device.account.name)
        _ = try await within(StoryBench.patience) {
            for await status in phone.sync.statuses where status.counts.pending == 0 && status.phase == .idle { break }
        }
        return Double(try await server.rows(account: account, type: "todo", limit: .max).count)
    }

    // MARK: - The third story

    private func expired(_ device: LabDevice, _ phone: RunningPhone, _ isOld: Bool) async throws -> Values {
        // No other code may contact the server during the measurement.
        let old = OldSession(server: device.serverAddress, wire: phone.wire)
        let work: @Sendable () async throws -> Void
        if isOld {
            try await old.signUp(email: "old-\(device.name)@lab.example", password: "long enough for anybody")
            server.expire(accessToken: await old.token)
            work = { try await old.get("/home") }
        } else {
            try await PhoneSession(device: device, server: server).expire()
            work = { _ = try await phone.session.send(SessionRequest("/home")) }
        }
        phone.wire.clear()
        await withTaskGroup(of: Void.self) { group in
            for _ in 1...StoryBench.requests { group.addTask { try? await work() } }
        }
        return [
            .tokenSends: Double(phone.wire.sent("/home")), .tokenRefreshes: Double(phone.wire.sent("/auth/token")),
        ]
    }

    private func redraws(_ device: LabDevice, _ phone: RunningPhone, _ isOld: Bool) async throws -> Double {
        let (news, end) = park.newsroom.follow(device.name)
        defer { end() }
        let screen: any HomeShowing = isOld ? phone.shown.oldHome : phone.shown.home
        await screen.open()
        for await item in news {
            guard case .changed(_, let topics) = item, topics.contains(.home) else { continue }
            let snapshot = screen.snapshot
            // The old way draws three times per answer.
            if snapshot.answers > 0, snapshot.drawn >= (isOld ? 3 : 1), snapshot.problem == nil { break }
            if snapshot.problem != nil { await screen.refresh() }
        }
        let snapshot = screen.snapshot
        return Double(snapshot.drawn) / Double(max(snapshot.answers, 1))
    }

    // MARK: - The fourth and fifth story

    /// Measures from the request for the page.
    private func pictures(_ device: LabDevice, _ phone: RunningPhone, _ isOld: Bool) async throws -> Values {
        let alone = try await within(StoryBench.patience) {
            (
                page: try await middle { try await phone.session.send(SessionRequest("/poses?section=chosen")) },
                picture: try await middle {
                    try await phone.session.send(SessionRequest(Pose.picturePath(of: "r1000")))
                }
            )
        }
        let (news, end) = park.newsroom.follow(device.name)
        defer { end() }
        let screen: any PosesShowing = isOld ? phone.shown.oldPoses : phone.shown.poses
        await screen.open()
        let times = PageTimes()
        _ = try await within(StoryBench.patience) {
            for await item in news {
                guard case .timeline(let event) = item else {
                    // Shows the items, like a page that has drawn them.
                    let section = await screen.snapshot.sections.first { $0.id == .chosen }
                    await screen.show(section?.items.prefix(8).map(\.pose.id) ?? [])
                    continue
                }
                guard await times.take(event) else { continue }
                if event.kind == .failed { await screen.retry(nil) }
                if event.kind == .allPictures { break }
            }
        }
        var values = await times.values
        if let alone, let first = values[.firstPicture] {
            values[.firstPictureRatio] = (first - alone.page) / alone.picture
        }
        return values
    }

    private func middle(_ request: () async throws -> SessionResponse) async throws -> Double {
        var times: [Double] = []
        while times.count < 5 {
            let stopwatch = Stopwatch(ContinuousClock())
            if try await request().status == .ok { times.append(stopwatch() / .milliseconds(1)) }
        }
        return times.sorted()[2]
    }

    private func swipes(_ device: LabDevice, _ phone: RunningPhone, _ isOld: Bool) async throws -> Double {
        let screen = await phone.shorts(inOldWay: isOld)
        for index in 1...10 {
            try await Task.sleep(for: .milliseconds(250))
            await screen.show(index)
        }
        let (news, end) = park.newsroom.follow(device.name)
        defer { end() }
        if !Self.isDone(screen) { for await _ in news where Self.isDone(screen) { break } }
        let (things, requests) = phone.wire.totals(["/authors/", "/places"])
        return Double(requests) / Double(max(things, 1))
    }

    /// Whether the last video has all its values, or has failed.
    private static func isDone(_ screen: any ShortsShowing) -> Bool {
        let snapshot = screen.board.snapshot
        guard let index = snapshot.index, index == 10 else { return snapshot.problem != nil }
        return [snapshot.items[index].portrait, snapshot.items[index].place].allSatisfy {
            $0.state == .here || $0.state == .failed
        }
    }
}

/// The times of the first picture and of all pictures on the first page of chosen poses.
private actor PageTimes {
    private var start: (row: String, ms: Double)?
    private(set) var values: [StoryFigure.Measure: Double] = [:]

    func take(_ event: TimelineEvent) -> Bool {
        if start == nil, event.kind == .page, event.text == "First page of chosen", let row = event.row {
            start = (row, event.ms)
        }
        guard let start, let row = event.row else { return false }
        // A failed page is requested again, in another row.
        if event.kind == .page, event.text == "First page of chosen", row != start.row { self.start = (row, start.ms) }
        guard row == self.start?.row else { return false }
        switch event.kind {
        case .firstPicture: values[.firstPicture] = event.ms - start.ms
        case .allPictures: values[.lastPicture] = event.ms - start.ms
        default: break
        }
        return true
    }
}
