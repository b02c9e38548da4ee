// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

/// Why a server does not start. The message says what to do.
extension OptimistError.Code {
    /// The data directory holds something that this server did not write, or that is damaged.
    public static let unreadableData = Self("unreadableData")
    /// Other users of the machine could read the data, and the server must not change that by itself.
    public static let exposedData = Self("exposedData")
    /// The disk has no room, or fails.
    public static let diskTrouble = Self("diskTrouble")
    /// The data was written by a later version of the server.
    public static let newerData = Self("newerData")
    /// Another server has the data directory.
    public static let dataInUse = Self("dataInUse")
    /// The schema contradicts the data, or asks for what the server cannot do.
    public static let schemaConflict = Self("schemaConflict")
    /// The secret for tokens is missing, cannot be read, or is not the one that the other processes have.
    public static let wrongSecret = Self("wrongSecret")
    /// Another program listens where the server was told to.
    public static let addressInUse = Self("addressInUse")
    /// The server was told to listen to an address that the machine does not have, or to a port that its user may not use.
    public static let addressUnavailable = Self("addressUnavailable")
}
