// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistSession
import Synchronization

/// The screens with loaded content, each in the old way and with Optimist.
struct PhoneScreens: Sendable {
    private let shelf = PictureShelf()
    private let oldShelf = PictureShelf()
    let shorts: ShortsScreen
    let oldShorts: OldShorts
    let poses: PosesScreen
    let oldPoses: OldPoses
    let home: HomeScreen
    let oldHome: OldHome

    init(_ phone: PhoneParts) {
        shorts = ShortsScreen(loaders: phone.loaders, shelf: shelf, news: phone.news)
        oldShorts = OldShorts(session: phone.session, shelf: oldShelf, news: phone.news)
        let source = PoseSource(session: phone.session)
        let watch = PageWatch(news: phone.news, wire: phone.wire)
        poses = PosesScreen(loaders: phone.loaders, source: source, shelf: shelf, watch: watch, news: phone.news)
        oldPoses = OldPoses(session: phone.session, source: source, shelf: oldShelf, watch: watch, news: phone.news)
        home = HomeScreen(session: phone.session, store: phone.store, clock: phone.clock, news: phone.news)
        oldHome = OldHome(session: phone.session, store: phone.store, clock: phone.clock, news: phone.news)
    }

    func picture(_ path: String) -> Picture? { shelf[path] ?? oldShelf[path] }

    /// Retries failed items.
    func retry() async {
        await shorts.retry()
        poses.retry(nil)
        home.retry()
    }

    func close() async {
        await shorts.close()
        await oldShorts.close()
        poses.close()
        await oldPoses.close()
        home.close()
        await oldHome.close()
    }
}

struct PhoneParts: Sendable {
    let session: Session
    let store: Store
    let loaders: PhoneLoaders
    let wire: Wire
    let clock: PhoneClock
    let news: NewsDesk
}

final class CurrentScreens: Sendable {
    private let parts: PhoneParts
    private let state: Mutex<PhoneScreens>

    init(_ parts: PhoneParts) {
        self.parts = parts
        state = Mutex(PhoneScreens(parts))
    }

    var current: PhoneScreens { state.withLock { $0 } }

    /// Replaces the screens, and deletes the shown values, including those on disk.
    func beginAnew() async {
        let next = PhoneScreens(parts)
        let former = state.withLock { state in
            defer { state = next }
            return state
        }
        await former.close()
        await former.poses.forget()
    }

    func follow(_ network: LabNetwork) async {
        var wasOnline = true
        for await path in network.updates {
            if path.isOnline, !wasOnline { await current.retry() }
            wasOnline = path.isOnline
        }
    }
}
