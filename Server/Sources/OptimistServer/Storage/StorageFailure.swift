// This source file is part of the Optimist open source project, under the MIT licence.

/// A failure of the database that a request cannot help. The same request may succeed later.
///
/// Nothing was stored, except that a commit may have succeeded if the connection broke during it. The request can be repeated
/// either way: a push is not stored twice.
package protocol StorageFailure: Error {
    /// The sentence that a client receives with status 503. It quotes no rows.
    var detail: String { get }
    /// After how many seconds the client should retry.
    var retryAfterSeconds: Int { get }
    /// The key and the value that the operator's log shows. They quote no rows.
    var code: (name: String, value: String) { get }
}
