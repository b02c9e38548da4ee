// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// Reasons why a server does not start. The error's message says what to do.
extension OptimistError.Code {
    /// The data directory contains damaged data or files that this server did not write.
    public static let unreadableData = Self("unreadableData")
    /// Other users of the machine can read the data, and the server must not change that itself.
    public static let exposedData = Self("exposedData")
    /// The disk is full or fails.
    public static let diskTrouble = Self("diskTrouble")
    /// A later version of the server wrote the data.
    public static let newerData = Self("newerData")
    /// Another server uses the data directory.
    public static let dataInUse = Self("dataInUse")
    /// The schema contradicts the data or needs a feature that the server does not support.
    public static let schemaConflict = Self("schemaConflict")
    /// The secret for tokens is missing, unreadable, or different from the secret of the other processes.
    public static let wrongSecret = Self("wrongSecret")
    /// Another program listens on the configured address and port.
    public static let addressInUse = Self("addressInUse")
    /// The machine does not have the configured address, or the user may not open the port.
    public static let addressUnavailable = Self("addressUnavailable")
}
