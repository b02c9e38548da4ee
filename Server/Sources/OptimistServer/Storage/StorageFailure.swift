// This source file is part of the Optimist open source project, under the MIT licence.

/// A temporary failure of the database. The same request may succeed later.
///
/// If the connection broke during a commit, the commit may have succeeded. Otherwise nothing was stored. Repeating the
/// request is safe: a push is never stored twice.
package protocol StorageFailure: Error {
    /// The message for the client, with status 503. It does not quote rows.
    var detail: String { get }
    var retryAfterSeconds: Int { get }
    /// For the operator's log. Does not quote rows.
    var code: (name: String, value: String) { get }
}
