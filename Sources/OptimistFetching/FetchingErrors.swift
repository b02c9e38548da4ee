// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// The target given to a source without a session is not an absolute URL.
    public static let noAddress = Self("fetching.noAddress")
    /// The server redirects too often, without a valid location, or from https to http.
    public static let badRedirect = Self("fetching.badRedirect")
}
