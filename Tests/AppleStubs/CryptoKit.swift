// This source file is part of the Optimist open source project, under the MIT licence.

// Stands for the names of Apple's CryptoKit that our adapters use, so that they can be type-checked on Linux.
// Nothing here is ever run.

public import Foundation

public enum SHA256 {
    public static func hash(data: some DataProtocol) -> SHA256Digest { SHA256Digest() }
}

public struct SHA256Digest: Sequence {
    public func makeIterator() -> Array<UInt8>.Iterator { [].makeIterator() }
}
