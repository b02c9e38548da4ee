// This source file is part of the Optimist open source project, under the MIT licence.

// The subset of Apple's AuthenticationServices that the guides use, for type-checking on Linux. Never run.

public import Foundation
public import SwiftUI

public protocol ASAuthorizationCredential {}

public final class ASAuthorizationAppleIDCredential: ASAuthorizationCredential {
    public var identityToken: Data? { nil }
}

public final class ASAuthorization {
    public struct Scope: Hashable, Sendable {
        public static let email = Scope()
        public static let fullName = Scope()
    }

    public let credential: any ASAuthorizationCredential = ASAuthorizationAppleIDCredential()
}

public final class ASAuthorizationAppleIDRequest {
    public var requestedScopes: [ASAuthorization.Scope]?
    public var nonce: String?
}

public struct SignInWithAppleButton: View {
    public struct Label: Hashable, Sendable {
        public static let signIn = Label()
        public static let `continue` = Label()
    }

    @MainActor @preconcurrency public init(
        _ label: Label = .signIn, onRequest: @escaping (ASAuthorizationAppleIDRequest) -> Void,
        onCompletion: @escaping (Result<ASAuthorization, any Error>) -> Void
    ) {}

    public var body: some View { EmptyView() }
}
