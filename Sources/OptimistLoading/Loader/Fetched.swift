// This source file is part of the Optimist open source project, under the MIT licence.

/// What a fetch has brought.
public struct Fetched<Value: Sendable>: Sendable {
    /// Nil: what the loader has is still right.
    @usableFromInline let value: Value?
    @usableFromInline let validity: Validity
    let bytes: [UInt8]?
    let isKeptOnDisk: Bool

    /// - Parameters:
    ///   - value: The value.
    ///   - validity: How long it is right, and what to ask the source with when that is over. Default: for ever.
    ///   - bytes: What the disk keeps. Default: nil, and then the disk keeps what the loader's ``DiskTier`` makes of
    ///     the value.
    ///   - isKeptOnDisk: Whether it may be on a disk at all. Default: yes.
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

    /// The same, except that the disk keeps the value as the loader's ``DiskTier`` encodes it, not the bytes that came.
    package var keptAsValue: Self {
        value.map { Self($0, validity: validity, isKeptOnDisk: isKeptOnDisk) } ?? self
    }

    /// The source says that the former value is still right, from now on and for as long as is said here. Its tag and
    /// its date stay, if this says nothing of them.
    ///
    /// - Parameters:
    ///   - validity: How long it is right from now on.
    ///   - isKeptOnDisk: Whether it may stay on a disk. Default: yes.
    public static func unchanged(_ validity: Validity, isKeptOnDisk: Bool = true) -> Self {
        Self(unchanged: validity, isKeptOnDisk: isKeptOnDisk)
    }

    /// The same, after the source has said that it is unchanged.
    func confirmed(by answer: Self) -> Self {
        value.map {
            Self(
                $0, validity: answer.validity.confirming(validity), bytes: bytes,
                isKeptOnDisk: isKeptOnDisk && answer.isKeptOnDisk)
        } ?? answer
    }
}
