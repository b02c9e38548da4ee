// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// A fetch returned ``Fetched/unchanged(_:isKeptOnDisk:)``, but the loader does not have a value.
    public static let nothingToKeep = Self("nothingToKeep")
    /// A fetch requested a value from its own loader, and that value waits for this fetch.
    public static let fetchWaitsForItself = Self("fetchWaitsForItself")
}

extension OptimistError {
    @usableFromInline static let nothingToKeep = OptimistError(
        .nothingToKeep,
        "The fetch returned .unchanged for a key without a value. Return it only if fetch.previous is not nil."
    )

    static let fetchWaitsForItself = OptimistError(
        .fetchWaitsForItself,
        "A fetch and the value that it requested wait for each other in one loader. Load one of the two in another way."
    )
}
