// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import GRDB
import Optimist
import OptimistCore
import OptimistSession
@_spi(Internals) import OptimistTesting
import OptimistWire

extension World {
    func schedule() {
        for event in plan.events {
            scheduler.after(.seconds(event.at)) { [self] in if !isHealed { happen(event) } }
        }
    }

    private func happen(_ event: Plan.Event) {
        let device = devices[event.device]
        log("— \(event)")
        let mount = device.mount
        switch event.kind {
        case .offline: setNetwork(device, .offline, for: event.amount)
        case .flaky:
            if device.isRunning { reach(.flaky) }
            setNetwork(device, .flaky, for: event.amount)
        case .kill: device.kill(afterJobs: event.amount)
        case .diskCrash: mount?.crash(atChange: event.amount)
        case .ioError: mount?.fail(.ioError, skipping: event.amount, times: Int(event.draw % 3) + 1)
        case .diskFull: mount?.fail(.full, skipping: event.amount, times: Int(event.draw % 20) + 1)
        case .busy: mount?.fail(.busy, skipping: event.amount % 5, times: 200)
        case .powerLoss:
            if device.isRunning { reach(.powerLoss) }
            device.losePower()
        case .skew:
            device.skewSeconds = Double(event.amount)
            reach(.skew)
        case .serverKill: server.process?.kill(afterJobs: event.amount)
        case .serverDiskCrash: data.mount?.crash(atChange: event.amount)
        case .serverIOError: data.mount?.fail(.ioError, skipping: event.amount, times: Int(event.draw % 3) + 1)
        case .serverDiskFull: data.mount?.fail(.full, skipping: event.amount, times: Int(event.draw % 20) + 1)
        case .serverBusy: data.mount?.fail(.busy, skipping: event.amount % 5, times: 200)
        case .serverPowerLoss:
            if server.process != nil { reach(.serverPowerLoss) }
            server.kill()
            data.disk.losePower()
        case .expireTokens: if server.expireAccessTokens() { reach(.expireTokens) }
        case .revoke: revoke(device)
        case .signOut: signOut(device)
        case .checkpoint: checkpoint(device)
        case .deviceRestore: restore(event.device, after: event.amount)
        case .serverRestore: restoreServer(after: event.amount)
        case .upgrade: if upgrade(device) { reach(.upgrade) }
        case .serverUpgrade: if upgradeServer() { reach(.serverUpgrade) }
        case .absence: leaveAlone()
        case .join: if join(event.device) { reach(.join) }
        case .write, .found, .invite, .accept, .leave, .remove, .setRole, .transfer, .revokeInvitation, .deleteSpace,
            .move:
            users?.act(event)
        }
    }

    private func setNetwork(_ device: SimulatedDevice, _ conditions: LinkConditions, for seconds: Int) {
        device.link.conditions = conditions
        scheduler.after(.seconds(seconds)) { [self] in
            if !isHealed, device.link.conditions == conditions { device.link.conditions = .perfect }
        }
    }

    private func revoke(_ device: SimulatedDevice) {
        if server.revoke(device: device.name) { reach(.revoke) }
        scheduler.after(.seconds(30)) { device.signIn() }
    }

    private func signOut(_ device: SimulatedDevice) {
        guard let launch = device.launch else { return }
        launch.process.spawn { [self] in
            // The session ends before the first operation that can fail.
            if launch.session.account != nil { reach(.signOut) }
            try? await launch.session.signOut()
        }
        scheduler.after(.seconds(20)) { device.signIn() }
    }

    /// Checkpoints the log like another process of the app, such as an extension.
    private func checkpoint(_ device: SimulatedDevice) {
        guard device.launch != nil else { return }
        do {
            try read(device) { _ in }
            let mount = device.disk.mount()
            let queue = try DatabaseQueue(path: mount.url(SimulatedDevice.fileName).path)
            try queue.writeWithoutTransaction { _ = try $0.checkpoint(.passive) }
            reach(.checkpoint)
            try queue.close()
        } catch { log("no checkpoint: \(error)") }
    }

    // MARK: - Restores and upgrades

    /// Copies the file now and restores it later, so that all writes in between are lost.
    private func restore(_ number: Int, after seconds: Int) {
        let device = devices[number]
        let copy = device.disk.copy(SimulatedDevice.fileName)
        let wentBack = users?.copied(device: number)
        scheduler.after(.seconds(seconds)) { [self] in
            if isHealed || copy.isEmpty { return }
            device.kill()
            device.disk.remove(SimulatedDevice.fileName)
            device.disk.restore(copy)
            reach(.deviceRestore)
            wentBack?()
            log("\(device.name) restored its file from \(seconds) s ago")
        }
    }

    private func restoreServer(after seconds: Int) {
        let copy: (@Sendable () throws -> Void)?
        do { copy = try data.copy(while: server.process) } catch { return log("no copy of the server: \(error)") }
        scheduler.after(.seconds(seconds)) { [self] in
            guard !isHealed, let copy else { return }
            server.kill()
            do {
                try copy()
                reach(.serverRestore)
                try users?.serverWentBack()
                log("the server restored its file from \(seconds) s ago")
            } catch { find("the judges cannot read the copy of the server: \(error)") }
        }
    }

    @discardableResult
    func upgrade(_ device: SimulatedDevice) -> Bool {
        if device.app.schemaVersion == app.latestVersion { return false }
        device.app = app.app(app.latestVersion)
        device.kill()
        return true
    }

    @discardableResult
    func upgradeServer() -> Bool {
        if server.schema.version == app.latestVersion { return false }
        server.schema = app.schema(app.latestVersion)
        server.kill()
        return true
    }

    private func leaveAlone() {
        scheduler.skip(seconds: 100 * 86_400)
        users?.tombstonesWerePurged()
        server.sweep()
        reach(.absence)
    }

    // MARK: - Restarts

    /// Restarts dead processes after a pause, or immediately when the world is healed.
    func keepRunning() {
        for (number, device) in devices.enumerated() where !device.isRunning && !isToCome(number) { start(device) }
        if server.process == nil { startServer() }
    }

    private func isToCome(_ number: Int) -> Bool { withState { !$0.isHealed && $0.toCome.contains(number) } }

    /// - Returns: Whether the device had not been started before.
    private func join(_ number: Int) -> Bool {
        guard withState({ $0.toCome.remove(number) }) != nil else { return false }
        start(devices[number])
        return true
    }

    private func start(_ device: SimulatedDevice) {
        device.start { process, _ in
            process.onDeath { [self] in
                log("\(device.name) died, launch \(device.launches) \(device.launchFailure.map { "\($0)" } ?? "")")
                scheduler.after(pause(device.launches)) { [self] in if !device.isRunning { start(device) } }
            }
        }
        log("\(device.name) starts")
    }

    private func startServer() {
        do {
            try server.start()
            log("server starts")
            let process = server.process
            process?.onDeath { [self] in
                log("server died")
                scheduler.after(pause(server.starts)) { [self] in if server.process == nil { startServer() } }
            }
            if process != nil { return commits.happened() }
        } catch { log("server does not start: \(error)") }
        scheduler.after(pause(server.starts)) { [self] in if server.process == nil { startServer() } }
    }

    private func pause(_ count: Int) -> Duration {
        if isHealed { return .seconds(1) }
        var random = SplitMix64(seed: plan.seed &+ UInt64(count) &* 77)
        return .milliseconds(Int(random.next() % 40_000))
    }
}
