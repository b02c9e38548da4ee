// This source file is part of the Optimist open source project, under the MIT licence.

import Testing

@testable import OptimistLoading

@Suite(.timeLimit(.minutes(20)))
struct XXH64Tests {
    @Test(
        arguments: [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
        ] as [(String, UInt64)])
    func `the checksum is the published XXH64`(text: String, checksum: UInt64) { #expect(XXH64.hash(text) == checksum) }
}
