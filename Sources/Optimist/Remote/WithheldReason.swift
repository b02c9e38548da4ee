// This source file is part of the Optimist open source project, under the MIT licence.

/// Why a remote keeps a table from this device, while the others go on. What the device has of the table stays there, and
/// its unsent rows stay pending. The engine asks for the table again after an hour, and in each new run.
public enum WithheldReason: Sendable, Hashable {
    /// The remote serves the table only to a newer version of the app.
    case upgradeRequired
    /// The remote refuses the table to this user, for example after a role was taken away.
    case refused
}

extension [String: WithheldReason] {
    /// The tables that are withheld for this reason.
    func tables(_ reason: WithheldReason) -> Set<String> { Set(filter { $0.value == reason }.keys) }
}
