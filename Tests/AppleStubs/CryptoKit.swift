// This source file is part of the Optimist open source project, under the MIT licence.

// The subset of Apple's CryptoKit that the adapters use, for type-checking on Linux. Never run.

public import Foundation

public enum SHA256 {
    public static func hash(data: some DataProtocol) -> SHA256Digest { SHA256Digest() }
}

public struct SHA256Digest: Sequence {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}
