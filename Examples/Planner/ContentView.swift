// This source file is part of the Optimist open source project, under the MIT licence.

import Optimist
import OptimistSession
import OptimistUI
import SwiftUI

/// The to-dos, which do not require an account, and a sign-in form if sync needs one.
struct ContentView: View {
    let client: OptimistClient
    @Sync private var sync

    var body: some View {
        NavigationStack {
            VStack {
                if let failure = client.failure { Text("\(String(describing: failure))") }
                TodoList()
                if case .paused(let reason) = sync.status.phase, reason.code == .signedOut,
                    let session = client.components?.session
                {
                    SignInView(session: session)
                }
            }
        }
    }
}

struct SignInView: View {
    let session: Session
    @State private var email = ""
    @State private var password = ""
    @State private var message = ""

    var body: some View {
        VStack {
            TextField("E-mail", text: $email)
            SecureField("Password", text: $password)
            Button("Sign in") { signIn() }
            Text(message)
        }
    }

    /// The engine notices the sign-in and begins to sync.
    private func signIn() {
        Task {
            do { try await session.signIn(email: email, password: password) } catch { message = "\(error)" }
        }
    }
}
