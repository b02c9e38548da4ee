// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistSession
import Synchronization

/// The screens of a phone that show what is loaded, each in the two ways.
struct PhoneScreens: Sendable {
    let shelf = PictureShelf()
    let shorts: ShortsScreen
    let oldShorts: OldShorts
    let poses: PosesScreen
    let oldPoses: OldPoses
    let home: HomeScreen
    let oldHome: OldHome

    init(_ loaders: PhoneLoaders, _ session: Session, _ store: Store, _ clock: PhoneClock, _ news: NewsDesk) {
        shorts = ShortsScreen(loaders: loaders, shelf: shelf, news: news)
        oldShorts = OldShorts(session: session, shelf: shelf, news: news)
        let source = PoseSource(session: session)
        poses = PosesScreen(loaders: loaders, source: source, shelf: shelf, news: news)
        oldPoses = OldPoses(session: session, source: source, shelf: shelf, news: news)
        home = HomeScreen(session: session, store: store, clock: clock, news: news)
        oldHome = OldHome(session: session, store: store, clock: clock, news: news)
    }

    /// The network is back: asks once more for what has failed.
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

/// The screens as they are now: others once they were put back to their beginnings.
final class CurrentScreens: Sendable {
    private let make: @Sendable () -> PhoneScreens
    private let state: Mutex<PhoneScreens>

    /// - Parameter make: Makes screens that show nothing yet.
    init(_ make: @escaping @Sendable () -> PhoneScreens) {
        self.make = make
        state = Mutex(make())
    }

    var current: PhoneScreens { state.withLock { $0 } }

    func beginAnew() async {
        let next = make()
        let former = state.withLock { state in
            defer { state = next }
            return state
        }
        await former.close()
    }

    /// Tells the screens whenever the network is back, until the task is cancelled.
    func follow(_ network: LabNetwork) async {
        var wasOnline = true
        for await path in network.updates {
            if path.isOnline, !wasOnline { await current.retry() }
            wasOnline = path.isOnline
        }
    }
}
