// This source file is part of the Optimist open source project, under the MIT licence.

/// What crashes of one cause have in common. It holds no value that a user wrote.
public struct CrashSignature: Hashable, Sendable, Codable {
    /// The kind of exception, trap or signal, such as `Bad pointer dereference`.
    public var kind: String
    /// The message, without values. Empty: there is none.
    public var message: String
    /// The innermost frames in the app's own images, the innermost first.
    public var frames: [Frame]

    /// Makes a signature, unchecked.
    public init(kind: String, message: String = "", frames: [Frame] = []) {
        self.kind = kind
        self.message = message
        self.frames = frames
    }

    /// A place in the app's code.
    public struct Frame: Hashable, Sendable, Codable {
        /// The UUID or build id of the image, in lower-case hexadecimal digits.
        public var image: String
        /// How many bytes after the image's base address the instruction is.
        public var offset: Int64
        /// The function, if the log has it.
        public var function: String?
        /// The name of the source file, without its folders, if the log has it.
        public var file: String?
        /// The line in the file, if the log has it.
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

    /// Stands for all signatures beyond the most that an installation or a server keeps apart.
    @_spi(Internals) public static let other = CrashSignature(kind: "other")

    /// The text by which signatures are grouped: two with the same are one. A frame counts by its function, which keeps
    /// its name from build to build. Without one it counts by image and offset.
    @_spi(Internals) public var group: String {
        ([kind, message] + frames.map { $0.function ?? "\($0.image)+\($0.offset)" }).joined(separator: "\n")
    }
}
