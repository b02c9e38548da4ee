// This source file is part of the Optimist open source project, under the MIT licence.

/// The common features of crashes with one cause. It contains no values of a user.
public struct CrashSignature: Hashable, Sendable, Codable {
    /// The kind of exception, trap or signal, such as `Bad pointer dereference`.
    public var kind: String
    /// The message, without values. Empty if there is none.
    public var message: String
    /// The innermost frames in the app's own images, innermost first.
    public var frames: [Frame]

    /// Makes a signature, unchecked.
    public init(kind: String, message: String = "", frames: [Frame] = []) {
        self.kind = kind
        self.message = message
        self.frames = frames
    }

    /// A location in the app's code.
    public struct Frame: Hashable, Sendable, Codable {
        /// The UUID or build id of the image, in lower-case hexadecimal digits.
        public var image: String
        /// The instruction's offset in bytes from the image's base address.
        public var offset: Int64
        /// The function, if known.
        public var function: String?
        /// The name of the source file without folders, if known.
        public var file: String?
        /// The line in the file, if known.
        public var line: Int?

        /// Makes a frame, unchecked.
        public init(image: String, offset: Int64, function: String? = nil, file: String? = nil, line: Int? = nil) {
            self.image = image
            self.offset = offset
            self.function = function
            self.file = file
            self.line = line
        }
    }

    /// Stands for all signatures beyond the number that an installation or a server tracks.
    @_spi(Internals) public static let other = CrashSignature(kind: "other")

    /// The grouping key: signatures with equal keys count as one. A frame is identified by its function, whose name
    /// survives builds, or else by image and offset.
    @_spi(Internals) public var group: String {
        ([kind, message] + frames.map { $0.function ?? "\($0.image)+\($0.offset)" }).joined(separator: "\n")
    }
}
