// This source file is part of the Optimist open source project, under the MIT licence.

/// The account of a space is named after the space's id.
@_spi(Internals) public enum SpaceAccount {
    /// The account of a space, or nil if `space` is not a row id.
    public static func id(ofSpace space: String) -> String? {
        RowID.isValid(space) ? "s" + space.filter { $0 != "-" } : nil
    }

    /// The account of a space, or the person's own account. An invalid id of a space names no account.
    package static func id(of space: String?, own: String) -> String {
        space.map { id(ofSpace: $0) ?? $0 } ?? own
    }

    /// The space of an account, or nil if it is not a space's account.
    public static func space(of account: String) -> String? {
        guard account.utf8.first == UInt8(ascii: "s"), account.utf8.count == 33 else { return nil }
        var space = ""
        for (index, digit) in account.dropFirst().enumerated() {
            if [8, 12, 16, 20].contains(index) { space += "-" }
            space.append(digit)
        }
        return RowID.isValid(space) ? space : nil
    }
}
