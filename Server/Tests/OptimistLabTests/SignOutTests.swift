// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistLoading
import OptimistServer
import OptimistSession
import Testing

@testable import OptimistLab

/// The user that a phone's loaded data belongs to.
@Suite(.timeLimit(.minutes(20)))
struct SignOutTests {
    @Test func `C10: signing out removes everything loaded, in memory and on the disk`() async throws {
        let content = try LabContent(photos: nil, cache: FileManager.default.temporaryDirectory)
        try await Workbench.with({ $0.routes = content.routes }) { bench in
            let tested = try bench.phone("phone")
            let (phone, path) = (tested.phone, Pose.picturePath(of: "c1"))
            try await phone.session.signUp(email: "ann@example.org", password: "correct horse battery")
            // Before the sign-up the phone had no user. It may still be emptying its caches, which cancels a fetch.
            while (try? await phone.loaders.pictures.value(for: path)) == nil { await Task.yield() }
            // It may also be replacing the screens that are shown.
            while phone.shown.picture(path) == nil {
                phone.shown.poses.open()
                phone.shown.poses.show(["c1"])
                await Task.yield()
            }

            try await phone.session.signOut()
            while phone.loaders.pictures.cached(path) != nil || phone.shown.picture(path) != nil { await Task.yield() }
            phone.shown.poses.open()
            while phone.shown.poses.snapshot.sections.contains(where: { $0.state == .loading }) { await Task.yield() }
            #expect(phone.shown.poses.snapshot.sections.flatMap(\.items).isEmpty, "nor are the pages")
            await #expect(throws: (any Error).self, "nor is it on the disk") {
                try await phone.loaders.pictures.value(for: path)
            }
            await phone.drop()
        }
    }
}
