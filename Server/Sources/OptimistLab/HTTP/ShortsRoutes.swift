// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistCore

/// The screen of short videos of one phone.
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
                    throw OptimistError(.badLabRequest, "There is no short video number \(index).")
                }
                await screen.show(index)
            }
        }
    }

    /// What the screen shows after something was done; nothing if the phone is off.
    private func answer(
        _ request: Request, _ context: some RequestContext, _ work: (any ShortsShowing) async throws -> Void
    ) async throws -> Response {
        let device = try await park.device(try context.parameters.require("device"))
        guard let phone = try? await device.phone() else { return Response(status: .noContent) }
        let screen = await phone.shorts(inOldWay: device.isOldWay)
        try await work(screen)
        return try ShortsAnswer(snapshot: screen.board.snapshot.counted(on: phone.wire)).response(
            from: request, context: context)
    }
}

private struct ShortsAnswer: ResponseEncodable {
    let snapshot: ShortsSnapshot

    func encode(to encoder: any Encoder) throws { try snapshot.encode(to: encoder) }
}
