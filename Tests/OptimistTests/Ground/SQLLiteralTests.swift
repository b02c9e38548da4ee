// This source file is part of the Optimist open source project, under the MIT licence.

import GRDB
import OptimistCore
import TestForm
import Testing

@testable import Optimist

@Suite(.timeLimit(.minutes(60)))
struct SQLLiteralTests {
    private static let seeds: ClosedRange<UInt64> = TestForm.of(short: 1...40, full: 1...400, soak: 1...40_000)

    @Test(arguments: seeds) func `W3 a literal keeps every byte of a value, and SQLite reads it back`(seed: UInt64)
        throws
    {
        var random = SplitMix64(seed: seed)
        let db = try DatabaseQueue()
        for number in 0..<20 {
            let (value, other) = (AnyValue.random(using: &random), AnyValue.random(using: &random))
            let literal = value.literal
            let stored = value.withView(\.databaseValue)
            #expect(!literal.utf8.contains(0))
            #expect(SQLLiteral.parse(literal)?.isSame(as: stored) == true, "\(literal)")
            #expect(isLiteral(literal, of: value), "\(literal)")
            let areSame = value.withView { a in other.withView { a.isSame(as: $0) } }
            #expect(isLiteral(literal, of: other) == areSame, "\(literal) \(other.literal)")
            let read = try db.read { db in
                // GRDB caches statements by their SQL, and treats composed and decomposed letters as equal.
                try RowStatement("SELECT \(literal) -- \(number)", in: db).first([]) { $0.value(0) }
            }
            #expect(read?.isSame(as: stored) == true || isNeighbour(read, of: stored), "\(literal)")
        }
    }

    /// Whether SQLite read a number as the adjacent double, as its decimal parser does for large exponents.
    private func isNeighbour(_ read: DatabaseValue?, of stored: DatabaseValue) -> Bool {
        guard case .double(let number)? = read?.storage, case .double(let original) = stored.storage else {
            return false
        }
        return abs(original.exponent) > 900 && (number == original.nextUp || number == original.nextDown)
    }

    private func isLiteral(_ literal: String, of value: AnyValue) -> Bool {
        Array(literal.utf8).withUnsafeBytes { bytes in value.withView { SQLLiteral.isLiteral(bytes, of: $0) } }
    }

    private func reads(_ literal: String, as value: AnyValue) -> Bool {
        SQLLiteral.parse(literal)?.isSame(as: value.withView(\.databaseValue)) == true
    }

    @Test func `W3 literals written by SQLite's quote function are read`() {
        #expect(reads("'it''s'", as: .text(Array("it's".utf8))))
        #expect(reads("''", as: .text([])))
        #expect(reads("'''\u{301}'", as: .text(Array("'\u{301}".utf8))))
        #expect(reads("'\u{301}x'", as: .text(Array("\u{301}x".utf8))))
        #expect(reads("-5", as: .integer(-5)))
        #expect(reads("1.5e300", as: .real(1.5e300)))
        #expect(reads("9.0e+999", as: .real(.infinity)))
        #expect(reads("X''", as: .blob([])))
        #expect(reads("X'00FF'", as: .blob([0, 255])))
        #expect(reads("NULL", as: .null))
        #expect(reads("CAST(X'6100' AS TEXT)", as: .text([97, 0])))
    }

    @Test(arguments: ["word", "'", "'word", "X'0'", "X'0G'", "CAST(X'0' AS TEXT)", "", "X'"])
    func `W3 text that is not a literal is not read`(text: String) { #expect(SQLLiteral.parse(text) == nil) }
}
