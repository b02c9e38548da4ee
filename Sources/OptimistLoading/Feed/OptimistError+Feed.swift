// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// A source's pages lead to nothing new: a cursor has come again, or page after page has known items only.
    public static let pagesRepeat = Self("pagesRepeat")
}

extension OptimistError {
    static let pagesRepeat = OptimistError(.pagesRepeat, "The source gives the same pages again and again.")
}
