// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import OptimistCore

/// A phone's first screen and clock, and updates on the server.
struct HomeRoutes {
    let park: DevicePark
    let content: LabContent

    private struct ClockSetting: Decodable { var time: String? }
    private struct New: Decodable { var section: String }

    func add(to router: Router<some RequestContext>) {
        let device = router.group("lab/devices/:device")
        device.get("home") { request, context in try await answer(request, context) }
        device.post("home/refresh") { request, context in
            try await answer(request, context) { _, screen in await screen.refresh() }
        }
        device.put("clock") { request, context in
            let bytes = try await request.collected()
            let time = try bytes.isEmpty ? nil : JSONDecoder().decode(ClockSetting.self, from: bytes).time
            return try await answer(request, context) { phone, screen in
                let date = time.flatMap { phone.clock.today(at: $0, in: content.home.current.chapel.timeZone) }
                if time != nil, date == nil {
                    throw OptimistError(.badLabRequest, "\"time\" must be a time at the chapel, such as 09:59:55.")
                }
                phone.clock.set(to: date)
                await screen.systemClockDidChange()
            }
        }
        router.post("lab/server/home") { request, context in
            let section = try await request.decode(as: New.self, context: context).section
            guard content.home.publish(section) != nil else {
                throw OptimistError(.badLabRequest, "\"section\" must be news, banner or notices.")
            }
            return EmptyAnswer()
        }
    }

    /// Performs work and returns the screen, or no content if the phone is off.
    private func answer(
        _ request: Request, _ context: some RequestContext,
        _ work: (RunningPhone, any HomeShowing) async throws -> Void = { _, _ in }
    ) async throws -> Response {
        try await park.answer(request, context) { device, phone in
            let screen: any HomeShowing = await device.isOldWay ? phone.shown.oldHome : phone.shown.home
            await screen.open()
            try await work(phone, screen)
            return ValueAnswer(screen.snapshot)
        }
    }
}
