// This source file is part of the Optimist open source project, under the MIT licence.

/// An error of a database that could not do its part. Nothing was stored, and the same may work later.
package protocol StorageFailure: Error {
    /// What a client hears: status 503 with this sentence.
    var detail: String { get }
    /// After how many seconds to try again.
    var retryAfterSeconds: Int { get }
    /// What the operator's log says of it. It quotes no rows.
    var code: (name: String, value: String) { get }
}
