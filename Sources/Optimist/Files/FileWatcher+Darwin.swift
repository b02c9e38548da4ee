// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Darwin)
    import Darwin
    import Dispatch
    import Foundation

    extension FileWatcher {
        /// Calls a closure after writes to a file. Returns a closure that stops watching, or nil if the file cannot be
        /// watched.
        ///
        /// > Source: Apple, "DispatchSource.makeFileSystemObjectSource(fileDescriptor:eventMask:queue:)", kqueue(2).
        static func watch(_ file: URL, _ written: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
            let descriptor = open(file.path, O_EVTONLY | O_CLOEXEC)
            if descriptor < 0 { return nil }
            let queue = DispatchQueue(label: "optimist.notices")
            let watch = Watch(
                source: DispatchSource.makeFileSystemObjectSource(
                    fileDescriptor: descriptor, eventMask: [.write, .extend], queue: queue))
            watch.source.setEventHandler {
                written()
                watch.source.suspend()
                queue.asyncAfter(deadline: .now() + pause) { watch.source.resume() }
            }
            watch.source.setCancelHandler { close(descriptor) }
            watch.source.resume()
            return { watch.source.cancel() }
        }

        /// Unchecked, because dispatch sources are thread-safe but their protocol is not declared `Sendable`.
        private struct Watch: @unchecked Sendable {
            let source: any DispatchSourceProtocol
        }
    }
#endif
