// This source file is part of the Optimist open source project, under the MIT licence.

import OptimistCore

extension ServerConfiguration {
    /// - Throws: `OptimistError` with code `badIdentityProvider`.
    func providers() throws -> IdentityProviders {
        let elapsed = elapsed ?? dependencies.clock.stopwatch()
        let providers = try IdentityProviders(
            identityProviders.map { provider in
                try KeyRing(
                    provider, fetch: fetchKeys, elapsed: elapsed, spawn: dependencies.spawn, logger: logger)
            })
        guard !providers.isEmpty || signIn != .identity else {
            throw OptimistError(
                .badIdentityProvider,
                "Sign-in with identities needs an identity provider. Name one, or allow passwords.")
        }
        return providers
    }

    /// As configured, without identities if there is no provider.
    var usedSignIn: SignInMode { identityProviders.isEmpty ? .password : signIn }
}
