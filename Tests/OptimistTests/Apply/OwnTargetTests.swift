// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Testing

@testable import Optimist

struct OwnTargetTests {
    @Test(arguments: [
        // A proxy speaks TLS, and the server does not know of it.
        ("http://sync.example.org/jmap/", "https://sync.example.org", "/jmap/"),
        ("HTTP://Sync.example.org:8443/jmap/?a=http://x/", "https://sync.example.org:8443", "/jmap/?a=http://x/"),
        // URLs that the session itself resolves or refuses.
        ("/jmap/", "https://sync.example.org", "/jmap/"),
        ("https://sync.example.org/jmap/", "https://sync.example.org", "https://sync.example.org/jmap/"),
        ("http://sync.example.org/jmap/", "http://sync.example.org", "http://sync.example.org/jmap/"),
        ("http://sync.example.org:80/jmap/", "https://sync.example.org", "http://sync.example.org:80/jmap/"),
        (
            "http://sync.example.org.evil.org/jmap/", "https://sync.example.org",
            "http://sync.example.org.evil.org/jmap/"
        ),
        ("http://sync.example.org@evil.org/", "https://sync.example.org", "http://sync.example.org@evil.org/"),
        ("http://sync.example.org", "https://sync.example.org", "http://sync.example.org"),
    ])
    func `a URL of the session's host is reached the way the session reaches that host`(
        url: String, server: String, target: String
    ) throws {
        #expect(OwnTarget.target(of: url, for: try #require(URL(string: server))) == target)
    }
}
