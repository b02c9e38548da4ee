// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import HTTPTypes
import OptimistCore
import Testing

@testable import OptimistSession

/// Answer fields that name times.
@Suite(.timeLimit(.minutes(20)))
struct AnswerFieldTests {
    /// > Source: RFC 9110, section 5.6.7.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
    ])
    func `a date is read in each of its three forms`(text: String) throws {
        let date = try #require(HTTPDate.parse(text))
        #expect(date == Date(timeIntervalSince1970: 784_111_777))
        #expect(HTTPDate.format(date) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `a two-digit year is at most 50 years ahead`() throws {
        let now = try #require(HTTPDate.parse("Sat, 28 Nov 2026 00:00:00 GMT"))
        for (two, four) in [("26", "2026"), ("76", "2076"), ("77", "1977"), ("99", "1999"), ("00", "2000")] {
            let date = HTTPDate.parse("Friday, 01-May-\(two) 00:00:00 GMT", now: now)
            #expect(date == HTTPDate.parse("Fri, 01 May \(four) 00:00:00 GMT"), "\(two)")
        }
    }

    @Test(arguments: [
        "", "GMT", "Sun, 06 Nov 99999999999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 8:49 GMT",
        "Sun, 006 Nov 1994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37:01 GMT",
        "Sun, 32 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 94", "0",
        "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT",
    ])
    func `an invalid date is nil`(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test(arguments: [
        ("7", Duration.seconds(7)), ("0", .zero), ("99999999999999999999", .seconds(3600)),
        ("Fri, 15 Jan 2027 08:00:30 GMT", .seconds(30)), ("Friday, 15-Jan-27 08:00:30 GMT", .seconds(30)),
        ("Fri Jan 15 08:00:30 2027", .seconds(30)), ("0x10", nil), ("0x1p4", nil), ("-5", .zero), ("nan", nil),
        ("inf", nil),
        ("", nil), ("soon", nil),
    ])
    func `S5 Retry-After is a decimal number or a date`(text: String, delay: Duration?) {
        let head = HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: text])
        #expect(head.retryAfter(now: Date(timeIntervalSince1970: 1_800_000_000)) == delay)
    }

    @Test func `S5 a date in Retry-After is measured by the answer's own clock`() {
        let head = HTTPResponse(
            status: .serviceUnavailable,
            headerFields: [.retryAfter: "Fri, 15 Jan 2027 10:00:30 GMT", .date: "Fri, 15 Jan 2027 10:00:00 GMT"])
        #expect(head.retryAfter(now: Date(timeIntervalSince1970: 1_800_000_000)) == .seconds(30))
    }

    @Test func `a token's lifetime is a decimal number`() {
        func lifetime(_ text: String) -> Duration? {
            TokenGrant(Array(#"{"access_token":"a","expires_in":\#(text)}"#.utf8))?.grant.lifetime
        }
        #expect(lifetime("900") == .seconds(900) && lifetime(#""900""#) == .seconds(900))
        for text in [#""0x10""#, #""nan""#, "null"] { #expect(lifetime(text) == nil, "\(text)") }
    }
}
