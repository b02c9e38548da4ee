// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Logging
import Optimist
import OptimistCore
import OptimistSession
import Synchronization

/// A running phone: the objects that an app creates at launch.
final class RunningPhone: Sendable {
    private struct Waits {
        var isOff = false
        var tasks: [UUID: Task<Void, Never>] = [:]
    }

    let store: Store
    let session: Session
    let sync: SyncEngine
    let screen: Screen
    let news: NewsDesk
    let wire: Wire
    let loaders: PhoneLoaders
    let clock: PhoneClock
    private let screens: CurrentScreens
    private let work: Task<Void, Never>
    private let waits = Mutex(Waits())

    static let file = "planner.sqlite"

    init(
        folder: URL, server: URL, credentials: any CredentialStore,
        transport: any Transport = AsyncHTTPClientTransport.shared, network: LabNetwork, diary: SessionDiary,
        news: NewsDesk, logger: Logger
    ) throws {
        let wire = Wire(transport)
        let store = try Store(
            at: folder.appending(path: Self.file), synced: [LabTodo.self], migrate: LabTodo.migrate)
        let session = Session(
            server: server, transport: wire, credentials: credentials,
            configuration: SessionConfiguration(deviceName: "Phone \(news.device)"), logger: logger)
        let sync = SyncEngine(store: store, session: session, reachability: network, logger: logger)
        let screen = Screen(news: news)
        self.store = store
        self.session = session
        self.sync = sync
        self.screen = screen
        self.news = news
        self.wire = wire
        let loaders = PhoneLoaders(folder: folder.appending(path: "loaded"), session: session)
        self.loaders = loaders
        let clock = PhoneClock()
        self.clock = clock
        let screens = CurrentScreens(
            PhoneParts(session: session, store: store, loaders: loaders, wire: wire, clock: clock, news: news))
        self.screens = screens
        // Unstructured, because a phone outlives the request that started it.
        work = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await sync.run() }
                group.addTask { await screen.follow(store) }
                group.addTask { await Self.follow(sync.statuses, news) }
                group.addTask { await diary.follow(session.states, news) }
                group.addTask { await screens.follow(network) }
                group.addTask { await Self.follow(session.states, screens, loaders, news) }
            }
        }
    }

    /// Ends everything without notifying anyone.
    func drop() async {
        let waiting = waits.withLock { waits in
            waits.isOff = true
            return waits.tasks.values.map(\.self)
        }
        for wait in waiting { wait.cancel() }
        work.cancel()
        await work.value
        await shown.close()
        screen.blank()
    }

    var shown: PhoneScreens { screens.current }

    func forgetLoaded() async {
        await screens.beginAnew()
        loaders.removeAll()
        wire.clear()
    }

    /// - Throws: `OptimistError` with code `deviceIsDown` if the phone is switched off first; `CancellationError`.
    func whileOn(_ wait: @escaping @Sendable () async -> Void) async throws {
        let id = UUID()
        let waiting = waits.withLock { waits in
            let waiting = Task { await wait() }
            if waits.isOff { waiting.cancel() } else { waits.tasks[id] = waiting }
            return waiting
        }
        await withTaskCancellationHandler {
            await waiting.value
        } onCancel: {
            waiting.cancel()
        }
        let isOff = waits.withLock { waits in
            waits.tasks[id] = nil
            return waits.isOff
        }
        try Task.checkCancellation()
        if isOff { throw OptimistError(.deviceIsDown, "The phone has crashed. Restart it.") }
    }

    /// Deletes loaded values at a sign-out (C10), and retries failed values after a sign-in.
    private static func follow(
        _ states: SessionStates, _ screens: CurrentScreens, _ loaders: PhoneLoaders, _ news: NewsDesk
    ) async {
        var isOut = false
        for await state in states {
            switch state {
            case .signedOut:
                isOut = true
                await screens.beginAnew()
                loaders.removeAll()
            case .active where isOut:
                isOut = false
                await screens.current.retry()
            default: continue
            }
            news.changed(.home, .feed, .shorts, .loading)
        }
    }

    private static func follow(_ statuses: SyncStatuses, _ news: NewsDesk) async {
        var rejected: Int?
        for await status in statuses {
            if let rejected, status.counts.rejected > rejected { news.tell(.rejected) }
            rejected = status.counts.rejected
            news.changed(.status, .device, .outbox, .rejections)
        }
    }
}
