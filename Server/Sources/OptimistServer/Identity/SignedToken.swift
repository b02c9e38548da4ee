// This source file is part of the Optimist open source project, under the MIT licence.

@_spi(Internals) import OptimistWire

/// A JSON Web Token, taken apart. Nothing in it is true before its signature was checked.
///
/// > Source: RFC 7515 §5.2 and §7.1, RFC 8725 §3.
struct SignedToken: Sendable {
    static let maxBytes = 12_288

    let algorithm: IdentityAlgorithm
    let keyID: String?
    let payload: JSON
    let signature: [UInt8]
    /// The part that is signed.
    let signed: Substring

    init(_ text: String) throws(TokenRefusal) {
        guard text.utf8.count <= Self.maxBytes else { throw .tooLarge }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.object(parts[0]), let payload = Self.object(parts[1]),
            let signature = Base64URL.decode(String(parts[2]))
        else { throw .malformed }
        if let type = header["typ"] {
            guard ["JWT", "APPLICATION/JWT"].contains(type.string?.uppercased()) else { throw .wrongType }
        }
        guard header["crit"] == nil, header["b64"] == nil else { throw .critical }
        guard let algorithm = header["alg"]?.string.flatMap(IdentityAlgorithm.init(name:)) else {
            throw .wrongAlgorithm
        }
        if let id = header["kid"] {
            guard let id = id.string, id.utf8.count <= 512 else { throw .malformed }
            keyID = id
        } else {
            keyID = nil
        }
        self.algorithm = algorithm
        self.payload = payload
        self.signature = signature
        signed = text[..<parts[1].endIndex]
    }

    /// Refuses repeated members, as the parser does.
    private static func object(_ part: Substring) -> JSON? {
        guard let bytes = Base64URL.decode(String(part)), let json = try? JSON(parsing: bytes), json.object != nil
        else {
            return nil
        }
        return json
    }
}
