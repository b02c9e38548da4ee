// This source file is part of the Optimist open source project, under the MIT licence.

/// Why a remote withholds a table from this device. Other tables still sync. The device keeps the table's rows, and
/// unsent rows stay pending. The engine asks again after an hour, and in each new run.
public enum WithheldReason: Sendable, Hashable {
    /// The remote serves the table only to a newer version of the app.
    case upgradeRequired
    /// The remote refuses the table to this user, for example after the user lost a role.
    case refused
}

extension [String: WithheldReason] {
    func tables(_ reason: WithheldReason) -> Set<String> { Set(filter { $0.value == reason }.keys) }
}
