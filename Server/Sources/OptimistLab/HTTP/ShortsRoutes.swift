// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistCore

struct ShortsRoutes {
    let park: DevicePark

    private struct Visible: Decodable { var index: Int }

    func add(to router: Router<some RequestContext>) {
        let shorts = router.group("lab/devices/:device/shorts")
        shorts.get { request, context in
            try await answer(request, context) { _ in }
        }
        shorts.post("visible") { request, context in
            let index = try await request.decode(as: Visible.self, context: context).index
            return try await answer(request, context) { screen in
                guard screen.board.snapshot.items.indices.contains(index) else {
                    throw OptimistError(.badLabRequest, "The short video number \(index) does not exist.")
                }
                await screen.show(index)
            }
        }
    }

    /// Performs work and returns the screen, or no content if the phone is off.
    private func answer(
        _ request: Request, _ context: some RequestContext, _ work: (any ShortsShowing) async throws -> Void
    ) async throws -> Response {
        try await park.answer(request, context) { device, phone in
            let screen = await phone.shorts(inOldWay: device.isOldWay)
            try await work(screen)
            return ValueAnswer(screen.board.snapshot.counted(on: phone.wire))
        }
    }
}
