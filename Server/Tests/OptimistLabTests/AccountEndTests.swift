// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistServer
import OptimistSession
import Testing

@testable import OptimistLab

/// What devices do when their account is deleted or its password changes.
@Suite(.timeLimit(.minutes(20)))
struct AccountEndTests {
    private let email = "ann@example.org"
    private let password = "correct horse battery"

    @Test(arguments: [false, true])
    func `S7 T3 O9: when their account is deleted, devices pause with that reason and keep their data`(
        isByOperator: Bool
    ) async throws {
        try await Workbench.with({ _ in }) { bench in
            let (phone, tablet) = (try bench.phone("phone"), try bench.phone("tablet"))
            try await phone.phone.session.signUp(email: email, password: password)
            try await phone.write("on the server")
            await phone.untilSynced()
            try await tablet.phone.session.signIn(email: email, password: password)
            await tablet.untilSynced()
            if isByOperator {
                _ = try await bench.server.carryOut(.delete(email: email))
            } else {
                try await phone.phone.session.deleteAccount(password: password)
            }
            for device in [phone, tablet] {
                #expect(await device.untilSignedOut() == .accountDeleted)
                await device.untilPaused()
                try await device.write("written after it")
                #expect(try await device.outbox.count == 1)
                #expect(
                    try await device.phone.todos(on: nil).map(\.content).sorted() == [
                        "on the server", "written after it",
                    ])
            }
            #expect(try await bench.server.accounts().isEmpty)
            for device in [phone, tablet] { await device.phone.drop() }
        }
    }

    @Test func `S7 T3 a password change signs other devices out, and their edits are sent after the next sign-in`()
        async throws
    {
        try await Workbench.with({ _ in }) { bench in
            let (phone, tablet) = (try bench.phone("phone"), try bench.phone("tablet"))
            try await phone.phone.session.signUp(email: email, password: password)
            try await tablet.phone.session.signIn(email: email, password: password)
            await tablet.untilSynced()
            #expect(try await phone.phone.session.accountSessions().count == 2)
            try await phone.phone.session.changePassword(from: password, to: "another horse battery")
            #expect(await tablet.untilSignedOut() == .passwordChanged)
            try await tablet.write("of the tablet")
            #expect(phone.phone.session.account != nil)
            try await tablet.phone.session.signIn(email: email, password: "another horse battery")
            await tablet.untilSynced()
            #expect(try await bench.contents() == ["of the tablet"])
            for device in [phone, tablet] { await device.phone.drop() }
        }
    }
}
