// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistSession

/// The screens of a phone that show what is loaded, each in the two ways.
struct PhoneScreens: Sendable {
    let shelf = PictureShelf()
    let shorts: ShortsScreen
    let oldShorts: OldShorts
    let poses: PosesScreen
    let oldPoses: OldPoses

    init(_ loaders: PhoneLoaders, _ session: Session, _ news: NewsDesk) {
        shorts = ShortsScreen(loaders: loaders, shelf: shelf, news: news)
        oldShorts = OldShorts(session: session, shelf: shelf, news: news)
        let source = PoseSource(session: session)
        poses = PosesScreen(loaders: loaders, source: source, shelf: shelf, news: news)
        oldPoses = OldPoses(session: session, source: source, shelf: shelf, news: news)
    }

    func close() async {
        await shorts.close()
        await oldShorts.close()
        poses.close()
        await oldPoses.close()
    }
}
