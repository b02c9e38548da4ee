// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import HTTPTypes
import OptimistCore

/// Where a session's requests go: to the server's own origin, and to no other.
package struct ServerAddress: Sendable {
    private let url: URL
    private let origin: Origin?
    private let authority: String
    /// Whether credentials may be sent there as the address says.
    private let isSafe: Bool
    /// Why the address cannot be used. Nil: it can.
    private let fault: String?

    /// - Parameter allowsPlainHTTPToPrivateAddresses: Whether an address of the local network needs no encryption.
    package init(_ url: URL, allowsPlainHTTPToPrivateAddresses: Bool = false) {
        self.url = url
        origin = Origin(url)
        authority = origin?.authority ?? ""
        fault = Self.fault(of: url)
        isSafe =
            origin.map { $0.isPrivate || allowsPlainHTTPToPrivateAddresses && $0.isInLocalNetwork } ?? false
    }

    /// Returns a sentence if an address is not that of a server. Nil: it is.
    package static func fault(of url: URL) -> String? {
        guard Origin(url) != nil else {
            return "The server's address is not whole: it needs a scheme and a host, such as https://api.example.org."
        }
        let rest = [url.path(percentEncoded: true), url.query() ?? "", url.fragment() ?? "", url.user() ?? ""]
        if rest.allSatisfy({ $0.isEmpty || $0 == "/" }) { return nil }
        return
            "The server's address is more than scheme, host and port, such as https://api.example.org. Put a path into the target of each request."
    }

    /// Makes the head of a request.
    ///
    /// - Parameter target: A path with its query, or a whole address.
    /// - Throws: `OptimistError` with code `badServerAddress`, `foreignOrigin`, also for a `Host` field, or `plaintextRefused`.
    package func head(_ method: HTTPRequest.Method, _ target: String, _ fields: HTTPFields) throws -> HTTPRequest {
        if let fault { throw OptimistError(.badServerAddress, "\(fault) Nothing was sent.") }
        if fields.contains(where: { $0.name.canonicalName == "host" }) {
            throw OptimistError(
                .foreignOrigin, "The session itself names the host of a request, so one with a Host field was not sent."
            )
        }
        if let origin, isSafe, Self.isPlainPath(target) {
            return HTTPRequest(
                method: method, scheme: origin.scheme, authority: authority, path: target, headerFields: fields)
        }
        guard let whole = URL(target: target, relativeTo: url),
            let head = HTTPRequest(method: method, url: whole, headerFields: fields), let found = Origin(whole),
            found == origin
        else {
            throw OptimistError(
                .foreignOrigin, "The address is not on the server that the session belongs to, so nothing was sent.")
        }
        guard isSafe else {
            let hint =
                found.isInLocalNetwork
                ? " For development, `allowsPlainHTTPToPrivateAddresses` allows http in a local network." : ""
            throw OptimistError(
                .plaintextRefused, "The server's address must begin with https, unless it is on this machine.\(hint)")
        }
        return head
    }

    /// Whether it is a path from the root that means what it says, as most are: to take it apart as a URL would change nothing.
    private static func isPlainPath(_ target: String) -> Bool {
        guard target.utf8.first == slash else { return false }
        var before = UInt8(0)
        for byte in target.utf8 {
            switch byte {
            case slash, UInt8(ascii: "."): if before == slash { return false }
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"),
                UInt8(ascii: "?"), UInt8(ascii: "="), UInt8(ascii: "&"), UInt8(ascii: ","):
                break
            default: return false
            }
            before = byte
        }
        return true
    }

    private static let slash = UInt8(ascii: "/")
}
