// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistHealth

/// Which part of a message is sent.
struct SafeMessageTests {
    @Test(arguments: [
        ("no row for kim@example.org", "no row for …"),
        ("user 4711 has no seat", "user … has no seat"),
        ("cannot open \"/home/kim/a b.txt\": denied", "cannot open … denied"),
        ("cannot open /home/kim/a.txt", "cannot open …"),
        ("key 5A4A2CCB-C2EF-4A15-A24D-492D08950960 is gone", "key … is gone"),
        ("name=kim, city: Seoul", "… city: …"),
        ("there is no user Kim Minsu here", "there is no user … here"),
        ("없는 사용자 김민수", "…"), ("value (kim lee, 12) is wrong", "value … is wrong"),
        ("unclosed \"kim lee", "unclosed …"), ("token eyJhbGciOi.abc.def", "token …"), ("", ""),
        (RuntimeFailure.foundNil, RuntimeFailure.foundNil),
    ])
    func `A4 the values in a message are removed`(text: String, sent: String) {
        #expect(SafeMessage.message(text) == sent)
    }

    @Test func `A4 a signature keeps five frames, file names without folders, and bounded texts`() throws {
        let frame = CrashSignature.Frame(
            image: "5A4A-2C", offset: 3, function: String(repeating: "é", count: 300), file: "/home/kim/Login.swift",
            line: 3)
        let cut = SafeMessage.cut(
            CrashSignature(kind: "a\u{1B}[31m\u{202E}b", frames: [frame] + Array(repeating: frame, count: 9)))
        #expect(cut.kind == "a[31mb" && cut.frames.count == 5)
        #expect(cut.frames[0].image == "5a4a2c" && cut.frames[0].file == "Login.swift")
        #expect(cut.frames[0].function?.utf8.count == 200)
        let read = try CrashSignature(json: cut.json)
        #expect(read == cut)
    }
}
