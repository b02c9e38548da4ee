// This source file is part of the Optimist open source project, under the MIT licence.

package import Foundation
package import HTTPTypes
import OptimistCore

/// Resolves the targets of a session's requests, which must be on the server's own origin.
package struct ServerAddress: Sendable {
    private let url: URL
    private let origin: Origin?
    private let authority: String
    /// Whether credentials may be sent there.
    private let isSafe: Bool
    /// Why the address is invalid. Nil: it is valid.
    private let fault: String?

    /// - Parameter allowsPlainHTTPToPrivateAddresses: Whether requests to the local network may be unencrypted.
    package init(_ url: URL, allowsPlainHTTPToPrivateAddresses: Bool = false) {
        self.url = url
        origin = Origin(url)
        authority = origin?.authority ?? ""
        fault = Self.fault(of: url)
        isSafe =
            origin.map { $0.isPrivate || allowsPlainHTTPToPrivateAddresses && $0.isInLocalNetwork } ?? false
    }

    /// Returns a sentence if the URL is not a valid server address, otherwise nil.
    package static func fault(of url: URL) -> String? {
        guard Origin(url) != nil else {
            return "The server's address is incomplete: it needs a scheme and a host, such as https://api.example.org."
        }
        let rest = [url.path(percentEncoded: true), url.query() ?? "", url.fragment() ?? "", url.user() ?? ""]
        if rest.allSatisfy({ $0.isEmpty || $0 == "/" }) { return nil }
        return
            "The server's address must have only a scheme, host and port, such as https://api.example.org. Put paths into targets."
    }

    /// Makes the head of a request.
    ///
    /// - Parameter target: A path with its query, or an absolute URL.
    /// - Throws: `OptimistError` with code `badServerAddress`, `plaintextRefused` or `foreignOrigin`. A request with a
    ///   `Host` field also fails with `foreignOrigin`.
    package func head(_ method: HTTPRequest.Method, _ target: String, _ fields: HTTPFields) throws -> HTTPRequest {
        if let fault { throw OptimistError(.badServerAddress, "\(fault) The request was not sent.") }
        if fields.contains(where: { $0.name.canonicalName == "host" }) {
            throw OptimistError(
                .foreignOrigin, "The request was not sent, because only the session may set its Host field."
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
                .foreignOrigin, "The address is not on the session's server, so the request was not sent.")
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

    /// Whether the target is an absolute path that URL parsing would not change. Most targets are.
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
