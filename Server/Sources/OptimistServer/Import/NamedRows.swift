// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// The rows that the lines of a file have named so far, to refuse a line whose row an earlier line has.
///
/// If each line counted, a second import with a newer time would write the row again, because one of its lines always
/// differs from the stored row. A million ids need about 32 MB.
package struct NamedRows: Sendable {
    private var hashes: Set<UInt128> = []

    package init() {}

    /// Notes the row of a line. If an earlier line has the same row, the line gets a fault.
    package mutating func check(_ line: inout ImportBatch.Line, of batch: ImportBatch) {
        guard line.fault == nil, let hash = Self.hash(of: line, batch), !hashes.insert(hash).inserted else { return }
        line = ImportBatch.Line(
            number: line.number,
            fault: ImportBatch.Fault(
                code: "duplicate", message: "An earlier line has the same id and account. Only the first line counts."))
    }

    /// Nil: the line has no id, so that equal rows are one row, or it is refused for another reason.
    private static func hash(of line: ImportBatch.Line, _ batch: ImportBatch) -> UInt128? {
        guard let object = (try? JSON(parsing: line.text.utf8))?.object,
            let account = object[batch.accountColumn].flatMap(ImportLine.name),
            let name = object[batch.idColumn].flatMap(ImportLine.name)
        else { return nil }
        let id = ImportLine.id(named: name, type: batch.type)
        return SHA256.hash(Array(id.utf8) + batch.account(named: account)).prefix(16)
            .reduce(0) { $0 << 8 | UInt128($1) }
    }
}

extension ImportBatch {
    /// The account that a value of the column names: the id of an account or a space.
    static func account(inColumn key: String) -> String { SpaceAccount.id(ofSpace: key.lowercased()) ?? key }

    /// The same bytes for all texts that name the same account.
    fileprivate func account(named key: String) -> [UInt8] {
        switch accountKey {
        case .email: (EmailAddress(key)?.text ?? key).utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        case .identity: Array(key.utf8)
        case .column: Array(Self.account(inColumn: key).utf8)
        }
    }
}
