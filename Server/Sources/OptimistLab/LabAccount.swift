// This source file is part of the Optimist open source project, under the MIT licence.

import Synchronization

/// An account that phones share. Any of them may change its password.
final class LabAccount: Sendable {
    let name: String
    let email: String
    private let current: Mutex<String>

    init(_ account: LabSettings.Account) {
        name = account.name
        email = account.email
        current = Mutex(account.password)
    }

    var password: String {
        get { current.withLock(\.self) }
        set { current.withLock { $0 = newValue } }
    }
}
