// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Optimist
import OptimistCore
import OptimistServer
import OptimistSession
import Testing

@testable import OptimistLab

/// What happens to the older device if the server allows one device per account.
@Suite(.timeLimit(.minutes(20)))
struct OneDeviceTests {
    private let email = "ann@example.org"
    private let password = "correct horse battery"

    @Test func `T3: a device with an open stream learns immediately, and only once, that another device replaced it`()
        async throws
    {
        try await Workbench.whereOneDeviceIsAllowed { bench in
            let (older, newer) = (try bench.phone("older"), try bench.phone("newer"))
            try await older.phone.session.signUp(email: email, password: password)
            while bench.server.listenerCount == 0 { await Task.yield() }
            await older.untilSynced()
            _ = await older.said(upTo: "signed in")
            await older.wire.shut()
            try await newer.phone.session.signIn(email: email, password: password)
            #expect(await older.untilSignedOut() == .signedInElsewhere)
            older.wire.open()
            #expect(older.wire.refusals == 0, "no request of its own told it")
            try await staysSilent(older, newer)

            try await older.phone.session.signIn(email: email, password: password)
            #expect(await older.said(upTo: "signed in") == ["signed out: signed_in_elsewhere", "signed in"])
            #expect(await newer.untilSignedOut() == .signedInElsewhere)
            await older.untilSynced()
            #expect(try await bench.contents() == ["of the newer", "of the older"])
            for phone in [older, newer] { await phone.phone.drop() }
        }
    }

    @Test func `T3: a device without a stream learns at its next request that it was replaced`() async throws {
        try await Workbench.whereOneDeviceIsAllowed { bench in
            let (older, newer) = (try bench.phone("older", hasStream: false), try bench.phone("newer"))
            try await older.phone.session.signUp(email: email, password: password)
            await older.untilSynced()
            _ = await older.said(upTo: "signed in")
            try await newer.phone.session.signIn(email: email, password: password)
            await newer.untilSynced()
            #expect(older.phone.session.account != nil, "nobody has told it")
            try await older.write("tells it")
            #expect(await older.untilSignedOut() == .signedInElsewhere)
            #expect(older.wire.refusals == 1, "the first refusal was final")
            #expect(try await older.outbox.count == 1)
            try await staysSilent(older, newer)

            try await older.phone.session.signIn(email: email, password: password)
            #expect(await older.said(upTo: "signed in") == ["signed out: signed_in_elsewhere", "signed in"])
            await older.untilSynced()
            #expect(try await bench.contents() == ["of the newer", "of the older", "tells it"])
            for phone in [older, newer] { await phone.phone.drop() }
        }
    }

    /// A signed-out device sends no requests, whatever happens on it, and keeps its unsent rows.
    private func staysSilent(_ older: TestedPhone, _ newer: TestedPhone) async throws {
        await older.untilPaused()
        let (requests, pending) = (older.wire.requests, try await older.outbox)
        try await older.write("of the older")
        older.network.say(isOnline: false)
        older.network.say(isOnline: true)
        older.phone.sync.syncNow()
        let refusal = await #expect(throws: OptimistError.self) {
            _ = try await older.phone.session.send(SessionRequest("/.well-known/jmap"))
        }
        #expect(refusal?.signOutReason == .signedInElsewhere)
        // Long enough for a complete exchange of the device that is signed in.
        try await newer.write("of the newer")
        await newer.untilSynced()
        #expect(older.wire.requests == requests)
        #expect(try await older.outbox.count == pending.count + 1)
    }
}
