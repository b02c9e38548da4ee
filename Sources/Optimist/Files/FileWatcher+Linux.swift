// This source file is part of the Optimist open source project, under the MIT licence.

#if os(Linux)
    // Dispatch sources are thread-safe, but not declared `Sendable` on Linux.
    @preconcurrency import Dispatch
    import Foundation
    import Glibc
    import OptimistCore

    extension FileWatcher {
        /// Calls a closure after writes to a file. Returns a closure that stops watching, or nil if the file cannot be
        /// watched.
        static func watch(_ file: URL, _ written: @escaping @Sendable () -> Void) -> (@Sendable () -> Void)? {
            guard let watch = Inotify.shared?.add(file.path, written) else { return nil }
            return { Inotify.shared?.remove(watch) }
        }
    }

    /// The process's only inotify instance. By default, a user may have 128 in total.
    ///
    /// > Source: Linux, inotify(7).
    private final class Inotify: Sendable {
        static let shared = Inotify()

        struct Watch: Sendable, Hashable {
            let number: Int32
            let id: Int
        }

        /// The listeners by watch number. Listeners of the same file share its number.
        private struct State {
            var listeners: [Int32: [Int: @Sendable () -> Void]] = [:]
            var nextID = 0
        }

        private let state = Mutex(State())
        private let descriptor: Int32
        private let source: any DispatchSourceRead

        private init?() {
            descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            let queue = DispatchQueue(label: "optimist.notices")
            source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { [weak self] in
                guard let self else { return }
                for listener in listeners(of: drain()) { listener() }
                source.suspend()
                queue.asyncAfter(deadline: .now() + FileWatcher.pause) { self.source.resume() }
            }
            source.resume()
        }

        func add(_ path: String, _ written: @escaping @Sendable () -> Void) -> Watch? {
            state.withLock { state in
                let number = inotify_add_watch(descriptor, path, UInt32(IN_MODIFY))
                if number < 0 { return nil }
                state.nextID += 1
                state.listeners[number, default: [:]][state.nextID] = written
                return Watch(number: number, id: state.nextID)
            }
        }

        func remove(_ watch: Watch) {
            state.withLock { state in
                state.listeners[watch.number]?[watch.id] = nil
                guard state.listeners[watch.number]?.isEmpty == true else { return }
                state.listeners[watch.number] = nil
                inotify_rm_watch(descriptor, watch.number)
            }
        }

        /// - Parameter numbers: Nil for all files.
        private func listeners(of numbers: Set<Int32>?) -> [@Sendable () -> Void] {
            state.withLock { state in
                state.listeners.filter { numbers?.contains($0.key) ?? true }.flatMap { $0.value.values }
            }
        }

        /// Reads the watch numbers of the written files. Nil if the event queue overflowed, so that any file may have
        /// been written.
        private func drain() -> Set<Int32>? {
            var numbers: Set<Int32> = []
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count <= 0 { return numbers.contains(-1) ? nil : numbers }
                buffer.withUnsafeBytes { bytes in
                    var offset = 0
                    while offset < count {
                        let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                        numbers.insert(event.wd)
                        offset += MemoryLayout<inotify_event>.size + Int(event.len)
                    }
                }
            }
        }
    }
#endif
