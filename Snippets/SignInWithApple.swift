// This source file is part of the Optimist open source project, under the MIT licence.
//
// Signing in with Apple, as in Documentation/BringYourUsers.md.

#if canImport(AuthenticationServices) && canImport(SwiftUI)
    import AuthenticationServices
    import CryptoKit
    import Foundation
    import OptimistSession
    import SwiftUI

    /// Signs in with Apple, and then with the server.
    struct AppleSignIn: View {
        let session: Session
        @State private var nonce = UUID().uuidString
        @State private var problem: String?

        var body: some View {
            SignInWithAppleButton(.continue) { request in
                nonce = UUID().uuidString
                request.requestedScopes = [.email]
                request.nonce = SHA256.hash(data: Data(nonce.utf8)).map { String(format: "%02x", $0) }.joined()
            } onCompletion: { result in
                Task { await finish(result) }
            }
            if let problem { Text(problem) }
        }

        private func finish(_ result: Result<ASAuthorization, any Error>) async {
            guard case .success(let authorization) = result,
                let credential = authorization.credential as? ASAuthorizationAppleIDCredential,
                let token = credential.identityToken.map({ String(decoding: $0, as: UTF8.self) })
            else { return }  // The user has cancelled, or Apple refused.
            do { try await session.signIn(identityToken: token, nonce: nonce) } catch {
                problem = error.localizedDescription
            }
        }
    }
#endif
