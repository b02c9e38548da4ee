// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// A source's pages lead to nothing new: a cursor has come again, or page after page has known items only.
    public static let pagesRepeat = Self("pagesRepeat")
    /// Hundreds of a source's pages in a row were empty, each with another cursor. A retry goes on after them.
    public static let pagesEmpty = Self("pagesEmpty")
}

extension OptimistError {
    static let pagesRepeat = OptimistError(.pagesRepeat, "The source gives the same pages again and again.")

    static func pagesEmpty(_ count: Int) -> OptimistError {
        OptimistError(
            .pagesEmpty, "The last \(count) pages of the source have nothing new. Try again to go on after them.",
            remedy: .retry(after: .zero))
    }
}
