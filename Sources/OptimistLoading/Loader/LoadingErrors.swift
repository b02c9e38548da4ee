// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// A source has said that nothing has changed, to somebody who has nothing.
    public static let nothingToKeep = Self("nothingToKeep")
}

extension OptimistError {
    @usableFromInline static let nothingToKeep = OptimistError(
        .nothingToKeep,
        "The source says that the value is unchanged, but there is none here. Answer so only when a former one is asked about."
    )
}
