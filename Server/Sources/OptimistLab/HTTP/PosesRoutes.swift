// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistCore

/// A phone's screen of poses, and new poses on the server.
struct PosesRoutes {
    let park: DevicePark
    let content: LabContent

    private struct Visible: Decodable { var ids: [Pose.ID] }
    private struct Next: Decodable { var section: PoseSection? }
    private struct Retry: Decodable { var id: Pose.ID? }

    func add(to router: Router<some RequestContext>) {
        let feed = router.group("lab/devices/:device/feed")
        feed.get { request, context in
            guard let filter = try PoseFilter(request.uri.queryParameters) else {
                return try await answer(request, context)
            }
            return try await answer(request, context) { await $0.setFilter(filter) }
        }
        feed.put("filter") { request, context in
            let filter = try await request.decode(as: PoseFilter.self, context: context)
            return try await answer(request, context) { await $0.setFilter(filter) }
        }
        feed.post("visible") { request, context in
            let ids = try await request.decode(as: Visible.self, context: context).ids
            _ = try await answer(request, context) { await $0.show(ids) }
            // Events report the changed screen, which may be large.
            return Response(status: .noContent)
        }
        feed.post("next") { request, context in
            let bytes = try await request.collected()
            let next = bytes.isEmpty ? Next() : try JSONDecoder().decode(Next.self, from: bytes)
            return try await answer(request, context) { await $0.next(in: next.section ?? .recommended) }
        }
        feed.post("refresh") { request, context in try await answer(request, context) { await $0.refresh() } }
        feed.post("retry") { request, context in
            let bytes = try await request.collected()
            let retry = bytes.isEmpty ? Retry() : try JSONDecoder().decode(Retry.self, from: bytes)
            return try await answer(request, context) { await $0.retry(retry.id) }
        }
        router.post("lab/server/poses") { _, _ in
            guard let drawn = content.drawn else {
                throw OptimistError(
                    .badLabRequest, "The lab shows your own photos, which it reads only when it starts.")
            }
            return ValueAnswer(drawn.publish())
        }
    }

    /// Performs work and returns the screen, or no content if the phone is off.
    private func answer(
        _ request: Request, _ context: some RequestContext, _ work: (any PosesShowing) async throws -> Void = { _ in }
    ) async throws -> Response {
        try await park.answer(request, context) { device, phone in
            let screen: any PosesShowing = await device.isOldWay ? phone.shown.oldPoses : phone.shown.poses
            await screen.open()
            try await work(screen)
            return ValueAnswer(await screen.snapshot)
        }
    }
}

extension PoseFilter {
    /// Nil if the query does not name a filter. An empty value, as in `?tag=`, removes that filter.
    fileprivate init?(_ query: Parameters) throws {
        guard ["people", "frames", "tag"].contains(where: { query.get($0) != nil }) else { return nil }
        func number(_ name: String) throws -> Int? {
            guard let text = query.get(name), !text.isEmpty else { return nil }
            guard let number = Int(text) else { throw OptimistError(.badLabRequest, "\"\(name)\" must be a number.") }
            return number
        }
        self.init(
            people: try number("people"), frames: try number("frames"),
            tag: query.get("tag").flatMap { $0.isEmpty ? nil : $0 })
    }
}
