// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import NIOCore
import Optimist
import OptimistCore
import OptimistHealth
import OptimistProxy
import OptimistSession
import OptimistWire

/// State, network, crash and restart, session, and the timeline.
struct DeviceRoutes {
    let park: DevicePark

    func add(to router: Router<some RequestContext>) {
        let devices = router.group("lab/devices")
        devices.get { _, _ in
            await park.opened()
            var answers: [DeviceAnswer] = []
            for device in await park.devices { answers.append(try await DeviceAnswer(device)) }
            return answers
        }
        devices.post { request, context in
            let body = try await request.decode(as: NewDevice.self, context: context)
            return try await DeviceAnswer(try await park.add(body.name, account: body.account ?? "planner"))
        }
        let device = devices.group(":device")
        device.get("status") { _, context in try await DeviceAnswer(try await named(context)).status }
        device.put("network") { request, context in
            let device = try await named(context)
            let bytes = try await request.collected()
            try await device.setNetwork(try JSONDecoder().decode(NetworkConditionsPatch.self, from: bytes))
            let drop = try JSONDecoder().decode(LostResponses.self, from: bytes).dropNextResponses
            if let drop { await device.dropNextResponses(max(0, drop)) }
            return try await DeviceAnswer(device)
        }
        device.put("old-way") { request, context in
            let device = try await named(context)
            await device.setOldWay(try await request.decode(as: Switch.self, context: context).on)
            return try await DeviceAnswer(device)
        }
        addLife(to: device)
        device.get("events") { request, context in
            EventStreamAnswer.response(to: request, from: park.newsroom, of: try await named(context).name)
        }
        router.get("lab/opening") { _, _ in OpeningAnswer(phones: await park.opening) }
        router.get("lab/events") { request, _ in EventStreamAnswer.response(to: request, from: park.newsroom) }
    }

    private func addLife(to device: RouterGroup<some RequestContext>) {
        device.post("crash") { _, context in
            let device = try await named(context)
            await device.end(.crash)
            return try await DeviceAnswer(device)
        }
        device.post("kill") { request, context in
            let device = try await named(context)
            let by = try await request.decode(as: Kill.self, context: context).by
            await device.end(by == .user ? .user : .memory)
            return try await DeviceAnswer(device)
        }
        device.post("restart") { _, context in
            let device = try await named(context)
            try await device.restart()
            return try await DeviceAnswer(device)
        }
        device.post("sign-in") { request, context in
            let device = try await named(context)
            let bytes = try await request.collected()
            let body = bytes.isEmpty ? Login() : try JSONDecoder().decode(Login.self, from: bytes)
            try await device.signIn(email: body.email, password: body.password)
            return try await DeviceAnswer(device)
        }
        device.post("sign-out") { _, context in
            let device = try await named(context)
            try await device.signOut()
            return try await DeviceAnswer(device)
        }
    }

    private func named(_ context: some RequestContext) async throws -> LabDevice {
        try await park.device(try context.parameters.require("device"))
    }
}

private struct OpeningAnswer: ResponseEncodable { var phones: [PhoneOpening] }

private struct NewDevice: Decodable {
    var name: String
    var account: String?
}

private struct LostResponses: Decodable { var dropNextResponses: Int? }

private struct Switch: Decodable { var on: Bool }

private struct Kill: Decodable {
    enum Killer: String, Decodable { case user, memory }
    var by: Killer
}

private struct Login: Decodable {
    var email: String?
    var password: String?
}

extension Request {
    func collected() async throws -> Data {
        Data(try await body.collect(upTo: 1 << 20).readableBytesView)
    }
}

struct DeviceAnswer: ResponseEncodable, Sendable {
    struct Network: Encodable {
        var profile: String
        var latencyMs: Double
        var lossPercent: Double
    }

    struct Status: ResponseEncodable {
        var phase: String
        var detail: String?
        var lastSync: String?
        var pending: Int
        var rejected: Int
        var parked: Int
    }

    var name: String
    var account: String
    var network: Network
    var pending: Int
    var rejected: Int
    var parked: Int
    var status: Status
    var running: Bool
    var oldWay: Bool
    var signedIn: Bool
    var version: String?
    var lastEnd: FoundEnd?

    init(_ device: LabDevice) async throws {
        name = device.name
        account = device.account.name
        let conditions = NetworkConditionsPatch(device.proxy.conditions)
        network = Network(
            profile: await device.profile.rawValue, latencyMs: conditions.latencyMs ?? 0,
            lossPercent: conditions.lossPercent ?? 0)
        oldWay = await device.isOldWay
        let phone = try? await device.phone()
        running = phone != nil
        signedIn = phone?.session.account != nil
        version = device.app?.version.version
        lastEnd = await device.foundEnd
        status = Status(try await phone?.sync.statuses.current() ?? SyncStatus())
        pending = status.pending
        rejected = status.rejected
        parked = status.parked
    }
}

extension DeviceAnswer.Status {
    init(_ status: SyncStatus) {
        (phase, detail) =
            switch status.phase {
            case .stopped: ("stopped", nil)
            case .idle: ("idle", nil)
            case .deferred: ("waiting", status.deferred.first?.reason.message)
            case .syncing: ("syncing", nil)
            case .offline: ("offline", nil)
            case .deviceTrouble(let message): ("deviceTrouble", message)
            case .paused(let reason): ("paused", reason.message)
            case .failed(let message): ("failed", message)
            }
        lastSync = status.counts.lastSync?.ISO8601Format(.withMilliseconds)
        pending = status.counts.pending
        rejected = status.counts.rejected
        parked = status.counts.parked
    }
}
