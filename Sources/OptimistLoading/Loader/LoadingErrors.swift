// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// A source has said that nothing has changed, to a loader that has no value.
    public static let nothingToKeep = Self("nothingToKeep")
    /// A fetch has asked its own loader for a value that waits for this very fetch.
    public static let fetchWaitsForItself = Self("fetchWaitsForItself")
}

extension OptimistError {
    @usableFromInline static let nothingToKeep = OptimistError(
        .nothingToKeep,
        "The source says that the value is unchanged, but there is none here. Answer so only when a former one is asked about."
    )

    static let fetchWaitsForItself = OptimistError(
        .fetchWaitsForItself,
        "A fetch asks its own loader for a value whose fetch waits for this one: neither would ever end. Let one of them get its data elsewhere."
    )
}
