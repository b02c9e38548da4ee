// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistLoading

/// A loader's machine in virtual time. The test answers for the source and the disk.
final class MachineDesk {
    private(set) var machine: LoaderMachine
    var now = Duration.zero
    /// The fetches and disk reads that were neither answered nor cancelled, by serial.
    private(set) var running: [Int: FlightID] = [:]
    private(set) var reading: [Int: FlightID] = [:]
    /// The fetched places, in the order in which their fetches began.
    private(set) var begun: [Int] = []
    /// The former validities that these fetches could use.
    private(set) var formers: [Validity?] = []
    private(set) var cancelled: [Int] = []
    /// The events of each holder, by its place.
    private(set) var told: [Int: [String]] = [:]
    /// The machine's latest alarm.
    private(set) var alarm: Duration?
    private var lastVersion = 0
    /// Tasks that do nothing. They stand for the tasks of fetches and reads.
    private var tokens: [Task<Void, Never>: Int] = [:]

    init(_ limits: LoaderLimits = LoaderLimits(), hasDisk: Bool = false) {
        machine = LoaderMachine(limits, hasDisk: hasDisk)
    }

    static func arrival(_ place: Int, expiresAt: Duration? = nil, etag: String? = nil) -> LoaderMachine.Arrival {
        LoaderMachine.Arrival(hash: place, cost: 1, validity: Validity(etag: etag), expiresAt: expiresAt)
    }

    // MARK: - Holders

    @discardableResult
    func ask(
        _ place: Int, _ priority: LoadPriority = .visible, _ freshness: Freshness = .cached,
        _ manner: AskingManner = AskingManner(), lane: String? = nil
    ) -> HolderID {
        let (id, news, decision) = machine.subscribe(place, priority, freshness, manner, lane: lane, at: now)
        told[id.place] = news.map(Self.word)
        take(decision)
        return id
    }

    func leave(_ id: HolderID) { take(machine.leave(id, at: now)) }
    func change(_ id: HolderID, to priority: LoadPriority) { take(machine.change(id, to: priority, at: now)) }
    func told(_ id: HolderID) -> [String] { told[id.place] ?? [] }
    func order(_ places: [Int], at priority: LoadPriority) { machine.order(places, at: priority) }
    func isShown(_ place: Int, isFresh: Bool = false) -> Bool { machine.use(place, isFresh: isFresh, { now }) }

    /// How the fetch of a place asks for another place.
    func manner(of place: Int) throws -> AskingManner {
        let id: FlightID = try #require(fetch(of: place))
        return AskingManner(asker: id)
    }

    // MARK: - Answers

    /// The running fetch of a place.
    func fetch(of place: Int) -> FlightID? { running.values.first { $0.place == place } }
    func read(of place: Int) -> FlightID? { reading.values.first { $0.place == place } }

    /// Answers a fetch.
    ///
    /// - Returns: Whether the answer is kept, or nil if the fetch was cancelled or did not exist.
    @discardableResult
    func answer(_ place: Int, expiresAt: Duration? = nil, etag: String? = nil, isUnchanged: Bool = false) -> Bool? {
        fetch(of: place).flatMap { answer($0, expiresAt: expiresAt, etag: etag, isUnchanged: isUnchanged) }
    }

    @discardableResult
    func answer(_ id: FlightID, expiresAt: Duration? = nil, etag: String? = nil, isUnchanged: Bool = false) -> Bool? {
        running[id.serial] = nil
        let arrival = Self.arrival(id.place, expiresAt: expiresAt, etag: etag)
        guard let (isKept, decision) = machine.fetched(arrival, isUnchanged: isUnchanged, of: id, at: now) else {
            return nil
        }
        take(decision)
        return isKept
    }

    func fail(_ place: Int, pause: Duration? = nil) {
        guard let id = fetch(of: place) else {
            Issue.record("nothing fetches \(place)")
            return
        }
        running[id.serial] = nil
        take(machine.failed(Broken(), pause: pause, of: id, at: now))
    }

    /// Answers a disk read, with nil for a miss.
    func answerRead(_ place: Int, _ arrival: LoaderMachine.Arrival?) {
        guard let id = read(of: place) else {
            Issue.record("nothing reads \(place)")
            return
        }
        reading[id.serial] = nil
        let decision = machine.read(arrival, of: id, at: now)
        #expect(decision != nil, "a running read is wanted")
        if let decision { take(decision) }
    }

    func report(_ place: Int, _ progress: Double) { fetch(of: place).map { take(machine.report(progress, of: $0)) } }
    func show(_ place: Int) { fetch(of: place).flatMap { machine.show($0) }.map(take) }

    // MARK: - The app and time

    func store(_ place: Int, isSeed: Bool = false, expiresAt: Duration? = nil) {
        take(machine.store(Self.arrival(place, expiresAt: expiresAt), place, isSeed: isSeed, at: now))
    }

    /// A loader removes only values that were requested or stored.
    func remove(_ place: Int) { if place < machine.flights.count { take(machine.remove(place)) } }
    func removeAll() { take(machine.removeAll(Broken())) }
    func trim(to share: Double) { take(machine.trim(to: share, at: now)) }
    func beginBatch() { machine.beginBatch() }
    func endBatch() { take(machine.endBatch(at: now)) }

    func pass(_ time: Duration) {
        now += time
        alarm = nil
        take(machine.tick(at: now))
    }

    // MARK: - Decisions

    private static func word(_ news: Decision.News) -> String {
        switch news {
        case .progress(let progress): "\(progress)"
        case .partial: "part"
        case .value(let origin): "\(origin)"
        case .failure(let error): error is Broken ? "failure" : "\(error)"
        }
    }

    private func take(_ decision: Decision) {
        for action in decision.actions {
            switch action {
            case .fetch(let id, let former):
                begin(id)
                running[id.serial] = id
                begun.append(id.place)
                formers.append(former)
            case .read(let id):
                begin(id)
                reading[id.serial] = id
            case .cancel(let token):
                guard let serial = tokens.removeValue(forKey: token),
                    let id = running.removeValue(forKey: serial) ?? reading.removeValue(forKey: serial)
                else {
                    Issue.record("work that does not run is cancelled")
                    continue
                }
                cancelled.append(id.place)
            case .tell(let news, let holder, let version):
                #expect(version > lastVersion, "a later decision has a later version")
                lastVersion = version
                told[holder, default: []].append(Self.word(news))
            case .wake(let time): alarm = alarm.map { min($0, time) } ?? time
            }
        }
    }

    private func begin(_ id: FlightID) {
        #expect(fetch(of: id.place) == nil && read(of: id.place) == nil, "\(id.place) is requested twice at once")
        let token = Task<Void, Never> {}
        tokens[token] = id.serial
        let isWanted = machine.keep(token, of: id)
        #expect(isWanted)
    }
}
