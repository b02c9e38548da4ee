// This source file is part of the Optimist open source project, under the MIT licence.

/// The result of a fetch.
public struct Fetched<Value: Sendable>: Sendable {
    /// Nil: the loader's value is still valid.
    @usableFromInline let value: Value?
    @usableFromInline let validity: Validity
    let bytes: [UInt8]?
    let isKeptOnDisk: Bool

    /// Creates a result with a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - validity: How long the value is valid, and how to revalidate it. Default: forever.
    ///   - bytes: The bytes to store on the disk. Default: nil, so that the loader's ``DiskTier`` encodes the value.
    ///   - isKeptOnDisk: Whether the value may be stored on a disk. Default: true.
    public init(
        _ value: Value, validity: Validity = Validity(), bytes: [UInt8]? = nil, isKeptOnDisk: Bool = true
    ) {
        self.value = value
        self.validity = validity
        self.bytes = bytes
        self.isKeptOnDisk = isKeptOnDisk
    }

    private init(unchanged validity: Validity, isKeptOnDisk: Bool) {
        value = nil
        self.validity = validity
        bytes = nil
        self.isKeptOnDisk = isKeptOnDisk
    }

    /// Drops the fetched bytes, so that the loader's ``DiskTier`` encodes the value.
    package var keptAsValue: Self {
        value.map { Self($0, validity: validity, isKeptOnDisk: isKeptOnDisk) } ?? self
    }

    /// Confirms that the loader's value is still valid. Its tag and date stay, if `validity` omits them.
    ///
    /// - Parameters:
    ///   - validity: How long the value is valid from now on.
    ///   - isKeptOnDisk: Whether the value may stay on a disk. Default: true.
    public static func unchanged(_ validity: Validity, isKeptOnDisk: Bool = true) -> Self {
        Self(unchanged: validity, isKeptOnDisk: isKeptOnDisk)
    }

    func confirmed(by answer: Self) -> Self {
        value.map {
            Self(
                $0, validity: answer.validity.confirming(validity), bytes: bytes,
                isKeptOnDisk: isKeptOnDisk && answer.isKeptOnDisk)
        } ?? answer
    }
}
