// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import TestForm
import Testing

@testable import OptimistSession

/// How targets and addresses are parsed.
@Suite(.timeLimit(.minutes(60)))
struct TargetTests {
    @Test(arguments: [
        ("/a%20b c", "/a%20b%20c"), ("/a%20b", "/a%20b"), ("/a b", "/a%20b"), ("/100%", "/100%25"), ("/%zz", "/%25zz"),
        ("/é%C3%A9", "/%C3%A9%C3%A9"), ("/x?q=a b%26&r=[1]", "/x?q=a%20b%26&r=%5B1%5D"), ("/a|b%7C", "/a%7Cb%7C"),
        ("/a+b", "/a+b"), ("/e\u{301}", "/e%CC%81"), ("http://localhost:8080/a%20b c", "/a%20b%20c"),
    ])
    func `invalid characters are escaped, and escapes are not escaped again`(
        target: String, path: String
    ) throws {
        let head = try ServerAddress(Bench.address).head(.get, target, [:])
        #expect(head.path == path && head.authority == "localhost:8080")
    }

    @Test func `the host of an address is kept as written`() throws {
        let url = try #require(URL(target: "https://[::1]:8443/a b%20[c]"))
        #expect(url.absoluteString == "https://[::1]:8443/a%20b%20%5Bc%5D")
    }

    @Test(arguments: [
        "http+unix://%2Ftmp%2Fsocket:80/", "https+unix://%2Ftmp%2Fsocket:443/", "unix://a:80/", "file:///etc/hosts",
        "ftp://a.example/", "http://1.2.3.4:65536/", "http://1.2.3.4:99999/", "http://a.example:0/", "http:///a",
    ])
    func `T13 only http and https with a valid port are origins`(address: String) {
        let url = URL(string: address)
        #expect(url.flatMap { Origin($0) } == nil)
        #expect(url.flatMap { HTTPRequest(method: .get, url: $0, headerFields: [:]) } == nil)
    }

    @Test(arguments: ["@evil.example/", ".evil.example/", ":1/", "", "x"])
    func `a path that would change the host is refused`(path: String) {
        let head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path)
        #expect(TransportRequest(head: head).url == nil)
    }

    @Test func `T13 no target leaves the origin or ends the process`() {
        var random = SplitMix64(seed: 39)
        let parts = [
            "/", "//", "a", "%", "%20", "%00", " ", "é", "\u{301}", "\u{0}", ":", "@", "?", "#", "[", "]", "..", "\\",
            "http:",
            "http://", "https://localhost:8080", "http://localhost:8080", "http+unix://", ":99999", ":8080",
            "localhost", "\r\n",
        ]
        let address = ServerAddress(Bench.address)
        for _ in 0..<TestForm.of(short: 5_000, full: 50_000, soak: 5_000_000) {
            let target = (0...Int.random(in: 0...7, using: &random)).map { _ in
                parts.randomElement(using: &random) ?? ""
            }
            .joined()
            guard let head = try? address.head(.get, target, [:]) else { continue }
            let url = TransportRequest(head: head).url
            #expect(url.flatMap { Origin($0) }?.description == "http://localhost:8080", "\(target)")
            #expect(head.path?.utf8.allSatisfy { 0x21...0x7E ~= $0 } == true, "\(target)")
        }
    }
}
