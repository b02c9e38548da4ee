// This source file is part of the Optimist open source project, under the MIT licence.

public import OptimistCore

extension OptimistError.Code {
    /// The source's pages repeat: a cursor has occurred before, or many pages in a row had only known items.
    public static let pagesRepeat = Self("pagesRepeat")
    /// Hundreds of pages in a row were empty, each with a new cursor. A retry continues after them.
    public static let pagesEmpty = Self("pagesEmpty")
}

extension OptimistError {
    static let pagesRepeat = OptimistError(.pagesRepeat, "The source returns the same pages again and again.")

    static func pagesEmpty(_ count: Int) -> OptimistError {
        OptimistError(
            .pagesEmpty,
            "The last \(count) pages of the source did not contain new items. Try again to continue after these pages.",
            remedy: .retry(after: .zero))
    }
}
