// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A program of the operator that reads and writes with a service key.
@_spi(Internals) public struct ServiceReader: Hashable, Sendable {
    /// The id of the key, in ASCII letters and digits. It is not secret.
    public var key: String
    public var mayWrite: Bool
    /// The types of the rows. Nil: all.
    public var types: Set<String>?
    /// The accounts of persons. Nil: all.
    public var accounts: Set<String>?
    /// The accounts of spaces. Nil: all.
    public var spaces: Set<String>?

    public init(
        key: String, mayWrite: Bool, types: Set<String>? = nil, accounts: Set<String>? = nil,
        spaces: Set<String>? = nil
    ) {
        self.key = key
        self.mayWrite = mayWrite
        self.types = types
        self.accounts = accounts
        self.spaces = spaces
    }

    /// The device in the clocks of what the program writes.
    public var device: String { "key\(key)" }

    /// Whether the key allows an account, which may not exist.
    public func mayOpen(_ account: String) -> Bool {
        let allowed = SpaceAccount.space(of: account) == nil ? accounts : spaces
        return allowed?.contains(account) ?? true
    }

    /// The rights of a writer in each account that the key allows. A space's members and invitations are not among
    /// them.
    var role: Role { mayWrite ? .writer : .reader }
}

/// The sender of a request that writes.
public enum Writer: Hashable, Sendable {
    /// A person, by the id of the person's own account.
    case person(String)
    /// A program with a service key, by the id of the key.
    case serviceKey(String)
    /// The server or its operator.
    case server

    init(_ reader: Reader) {
        switch reader {
        case .person(let id): self = .person(id)
        case .service(let service): self = .serviceKey(service.key)
        case .guest, .operator: self = .server
        }
    }

    /// The stored form. No person's id begins with "@".
    var text: String {
        switch self {
        case .person(let id): id
        case .serviceKey(let id): Self.keyPrefix + id
        case .server: Self.serverText
        }
    }

    init(text: String) {
        if text == Self.serverText {
            self = .server
        } else if text.hasPrefix(Self.keyPrefix) {
            self = .serviceKey(String(text.dropFirst(Self.keyPrefix.count)))
        } else {
            self = .person(text)
        }
    }

    private static let keyPrefix = "@key."
    private static let serverText = "@server"
}
