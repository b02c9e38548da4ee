// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire
import Testing

@testable import OptimistServer

@Suite(.timeLimit(.minutes(20)))
struct AccountValuesTests {
    private static func session() -> SessionRecord {
        SessionRecord(
            account: "a1", id: "s1", deviceID: "d", deviceName: "", salt: [1, 2, 3], generation: 1, confirmed: 0,
            refreshedAt: 0)
    }
    private let day = 86_400.0

    private func refresh(_ session: inout SessionRecord, _ number: Int, now: Double = 1) -> Bool {
        session.refresh(presenting: number, now: now, lifetime: 60 * day)
    }

    @Test func `T10: each refresh gives a successor, and reusing an old token ends the session`() {
        var session = Self.session()
        #expect(refresh(&session, 1) && session.generation == 2)
        #expect(refresh(&session, 2) && session.generation == 3)
        #expect(!refresh(&session, 1) && session.ended == .reuseDetected)
        #expect(!refresh(&session, 3))
    }

    @Test func `T10: a lost answer may be requested again until the successor is used`() {
        var session = Self.session()
        #expect(refresh(&session, 1) && session.generation == 2)
        #expect(refresh(&session, 1) && session.generation == 2)
        session.confirmed = 2
        #expect(!refresh(&session, 1) && session.ended == .reuseDetected)
    }

    @Test func `L3: a restored server accepts a newer refresh token than it knows`() {
        var session = Self.session()
        #expect(refresh(&session, 6) && session.generation == 7 && session.ended == nil)
        #expect(refresh(&session, 6) && session.generation == 7, "the answer was lost")
        #expect(refresh(&session, 7) && session.generation == 8)
        #expect(!refresh(&session, 5) && session.ended == .reuseDetected)
    }

    @Test func `an expired refresh token ends the session with its reason`() {
        var session = Self.session()
        #expect(!refresh(&session, 1, now: 61 * day))
        #expect(session.ended == .refreshExpired)
        var other = Self.session()
        #expect(refresh(&other, 1, now: 50 * day) && refresh(&other, 2, now: 100 * day))
    }

    @Test func `T10: a successor is always the same token, and depends on key, salt and number`() throws {
        let (key, session) = (SecretKey(randomBytes(32)), Self.session())
        let token = RefreshToken(session, number: 2, key: key)
        #expect(RefreshToken(session, number: 2, key: key).text == token.text)
        let read = try #require(RefreshToken(token.text))
        #expect(read == token && read.isGenuine(for: session, key: key))
        #expect(!read.isGenuine(for: session, key: SecretKey(randomBytes(32))))
        var salted = session
        salted.salt = [9]
        #expect(!read.isGenuine(for: salted, key: key))
        let forged = try #require(RefreshToken(token.text.replacing("s1.2.", with: "s1.3.")))
        #expect(!forged.isGenuine(for: session, key: key))
        #expect(RefreshToken("r1.a.b.c.d") == nil && RefreshToken("nonsense") == nil)
    }

    @Test func `attempts are limited by key and allowed again after a while`() {
        var limiter = AttemptLimiter(AttemptRate(burst: 2, interval: .seconds(8)))
        #expect(limiter.attempt("a", now: .zero) == nil)
        #expect(limiter.attempt("a", now: .zero) == nil)
        #expect(limiter.attempt("a", now: .seconds(4)) == .seconds(4))
        #expect(limiter.attempt("b", now: .seconds(4)) == nil)
        #expect(limiter.attempt("a", now: .seconds(10)) == nil)
        limiter.forgive("a")
        #expect(limiter.attempt("a", now: .seconds(10)) == nil)
    }

    @Test func `passwords are verified, and a missing account takes the same work`() async throws {
        let passwords = Passwords(cost: .trivial)
        let stored = try await passwords.hash("correct horse")
        #expect(try await passwords.verify("correct horse", against: stored))
        #expect(try await !passwords.verify("battery staple", against: stored))
        #expect(try await !passwords.verify("correct horse", against: nil))
        #expect(try await passwords.hash("correct horse") != stored)
    }

    /// > Source: RFC 7914, section 12, the second vector. A shorter key is a prefix of a longer one.
    @Test func `a stored password names its cost and is verified at that cost`() async throws {
        let key: [UInt8] = [
            0xfd, 0xba, 0xbe, 0x1c, 0x9d, 0x34, 0x72, 0x00, 0x78, 0x56, 0xe7, 0x19, 0x0d, 0x01, 0xe9, 0xfe,
            0x7c, 0x6a, 0xd7, 0xcb, 0xc8, 0x23, 0x78, 0x30, 0xe7, 0x73, 0x76, 0x63, 0x4b, 0x37, 0x31, 0x62,
        ]
        let vector = "$\(Base64URL.encode(Array("NaCl".utf8)))$\(Base64URL.encode(key))"
        let passwords = Passwords(cost: .trivial)
        #expect(try await passwords.verify("password", against: "scrypt$1024$8$16" + vector))
        #expect(try await !passwords.verify("password", against: "scrypt$1024$8$15" + vector))
        let stored = try await passwords.hash("correct horse")
        let early = stored.replacing("scrypt$16$1$1$", with: "scrypt$16$1$")
        #expect(early != stored)
        #expect(try await passwords.verify("correct horse", against: early))
        let now = Passwords.Cost(rounds: 16, blockSize: 1, parallelism: 3)
        #expect(try await Passwords(cost: now).verify("correct horse", against: early))
        #expect(Passwords.Cost.trivial.rest(to: now)?.parallelism == 2 && now.rest(to: now) == nil)
        #expect(Passwords.Cost.trivial.rest(to: .standard) == nil)
    }

    @Test func `a stored password names the standard cost`() async throws {
        let stored = try await Passwords(cost: .standard).hash("correct horse")
        #expect(stored.hasPrefix("scrypt$32768$8$3$"))
    }
}
