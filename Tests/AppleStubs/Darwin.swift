// This source file is part of the Optimist open source project, under the MIT licence.

// The names of Darwin and of Apple's Dispatch that FileWatcher uses, for type-checking on Linux. Glibc has the others.
// Never run.
public import Dispatch

public let O_EVTONLY: Int32 = 0

extension DispatchSource {
    public static func makeFileSystemObjectSource(
        fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue?
    ) -> any DispatchSourceProtocol { makeUserDataAddSource(queue: queue) }
}
