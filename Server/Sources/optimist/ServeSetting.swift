// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Logging
import OptimistPostgres
import OptimistServer

/// A setting that the environment or a file may also contain.
struct ServeSetting: Sendable {
    enum Kind { case text, number, choice, list }

    var name: String
    var kind: Kind
    /// Whether an environment variable has the same meaning as the flag.
    var isInEnvironment = true
    /// The value for `--print-configuration`, without passwords. Nil if the setting is not set.
    var value: @Sendable (ServeCommand) -> String?

    static let all: [ServeSetting] = [
        ServeSetting("host", .text) { $0.host },
        ServeSetting("port", .number) { "\($0.port)" },
        ServeSetting("admin-port", .number) { $0.adminPort.map { "\($0)" } },
        ServeSetting("behind-proxy", .choice) { "\($0.behindProxy)" },
        ServeSetting("public-origin", .text) { $0.publicOrigin },
        ServeSetting("connections-per-address", .number) { "\($0.connectionsPerAddress)" },
        ServeSetting("space-rows", .number) { "\($0.spaceRows)" },
        ServeSetting("space-members", .number) { "\($0.spaceMembers)" },
        ServeSetting("ownerless", .text) { $0.ownerless.rawValue },
        ServeSetting("memory", .number) { "\($0.memory)" },
        ServeSetting("reader-patience", .number) { "\($0.readerPatience)" },
        ServeSetting("data", .text) { command in
            guard case .directory(let directory)? = try? command.options.place else { return nil }
            return directory.path
        },
        ServeSetting("database", .text) { command in
            guard case .database(let url)? = try? command.options.place else { return nil }
            return PostgresDatabase(url: url).place
        },
        // OPTIMIST_SECRET is the secret, not the path of a file.
        ServeSetting("secret", .text, isInEnvironment: false) { $0.shared.secret },
        ServeSetting("connections", .number) { "\($0.shared.connections)" },
        ServeSetting("schema", .text) { $0.schema },
        ServeSetting("accept", .list) { $0.accept.isEmpty ? nil : $0.accept.map { "\($0)" }.joined(separator: ",") },
        ServeSetting("one-device", .choice) { "\($0.oneDevice)" },
        ServeSetting("sign-up", .text) { $0.signUp.rawValue },
        ServeSetting("identity-provider", .list) { command in
            command.identityProvider.isEmpty ? nil : command.identityProvider.map(\.text).joined(separator: ",")
        },
        ServeSetting("sign-in", .text) { $0.signIn.rawValue },
        ServeSetting("webhook", .list) { command in
            command.webhook.isEmpty ? nil : command.webhook.map(\.text).joined(separator: ",")
        },
        ServeSetting("hook", .text) { $0.hook.first?.text },
        ServeSetting("reset-hook", .text) { $0.resetHook },
        ServeSetting("tombstone-days", .number) { "\($0.tombstoneDays)" },
        ServeSetting("gazetteer", .text) { $0.gazetteer },
        ServeSetting("health", .text) { $0.health },
        ServeSetting("app-id", .list) { command in
            command.join.appIDs.isEmpty ? nil : command.join.appIDs.joined(separator: ",")
        },
        ServeSetting("app-store", .text) { $0.join.appStore?.absoluteString },
        ServeSetting("accept-time", .text) { $0.acceptTime.map(AcceptedTime.text) },
        ServeSetting("log-level", .text) { $0.logLevel.rawValue },
        ServeSetting("log-format", .text) { $0.logFormat.rawValue },
    ]

    private init(
        _ name: String, _ kind: Kind, isInEnvironment: Bool = true,
        value: @escaping @Sendable (ServeCommand) -> String?
    ) {
        self.name = name
        self.kind = kind
        self.isInEnvironment = isInEnvironment
        self.value = value
    }
}
