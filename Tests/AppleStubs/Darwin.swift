// This source file is part of the Optimist open source project, under the MIT licence.

// The names of Darwin, and what Dispatch has on Apple's systems only, that FileWatcher uses, so that it can be
// type-checked on Linux. The rest comes from Glibc, which has the same names. Nothing here is ever run.
public import Dispatch

public let O_EVTONLY: Int32 = 0

extension DispatchSource {
    public static func makeFileSystemObjectSource(
        fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue?
    ) -> any DispatchSourceProtocol { makeUserDataAddSource(queue: queue) }
}
