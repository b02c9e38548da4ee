// This source file is part of the Optimist open source project, under the MIT licence.

/// A temporary failure of the database that is not the request's fault. The same request may succeed later.
///
/// Nothing was stored, except that a commit may have succeeded if the connection broke during it. Repeating the request
/// is safe in both cases: a push is never stored twice.
package protocol StorageFailure: Error {
    /// The message that the client receives with status 503. It does not quote rows.
    var detail: String { get }
    /// How many seconds the client should wait before it retries.
    var retryAfterSeconds: Int { get }
    /// The key and value for the operator's log. They do not quote rows.
    var code: (name: String, value: String) { get }
}
