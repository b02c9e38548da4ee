// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) public import OptimistWire

@_spi(Internals) extension JMAPService {
    /// The session resource of a program with a service key. It has no event source.
    ///
    /// - Parameters:
    ///   - service: The rights of the key.
    ///   - name: The name of the key.
    ///   - asked: The accounts to list, as far as they exist and the key allows them. Empty: the accounts that the key
    ///     names.
    ///   - origin: As for ``session(account:username:origin:)``.
    /// - Throws: The store's error.
    public func session(
        of service: ServiceReader, named name: String, listing asked: Set<String>, origin: String
    ) async throws -> SessionResource {
        let listed = asked.isEmpty ? (service.accounts ?? []).union(service.spaces ?? []) : asked
        var session = SessionResource(
            username: name, apiURL: "\(origin)/jmap/", eventSourceURL: "", state: sessionState, epoch: epoch,
            initialState: "\(epoch).0", accounts: [:], primaryAccount: nil, tombstoneDays: settings.tombstoneDays)
        for id in try await states(of: listed, as: .service(service)).open.keys {
            if SpaceAccount.space(of: id) == nil {
                session.accounts[id] = schema
            } else {
                session.spaces[id] = SessionResource.Space(name: "", isReadOnly: !service.mayWrite)
            }
        }
        return session
    }
}
