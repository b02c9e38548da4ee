// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// The target of a source without a session is no whole address.
    public static let noAddress = Self("fetching.noAddress")
    /// The server redirects too often, to no address, or from https to http.
    public static let badRedirect = Self("fetching.badRedirect")
}
