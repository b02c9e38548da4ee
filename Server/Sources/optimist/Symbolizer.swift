// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import OptimistCore
import OptimistServer
import OptimistWire
import Subprocess

/// Looks up function names with `llvm-symbolizer`, in files whose build id or UUID matches a frame's image.
struct Symbolizer {
    private let images: [String: BinaryImage]

    /// Indexes the files in a folder and its subfolders.
    ///
    /// - Throws: `OptimistError` if the folder does not contain an executable with a build id.
    init(folder: URL) throws {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        var images: [String: BinaryImage] = [:]
        for case let file as URL in files ?? FileManager.DirectoryEnumerator() {
            if let image = BinaryImage(file) { images[image.id] = image }
        }
        guard !images.isEmpty else {
            throw OptimistError(.notFound, "\(folder.path) does not contain an executable with a build id.")
        }
        self.images = images
    }

    /// Adds names where a matching image exists. Existing names are kept.
    ///
    /// - Throws: `OptimistError` if `llvm-symbolizer` cannot be run.
    func named(_ frames: [CrashSignature.Frame]) async throws -> [CrashSignature.Frame] {
        var named: [CrashSignature.Frame] = []
        for frame in frames {
            if frame.function == nil, let image = images[frame.image] {
                named.append(try await self.named(frame, in: image))
            } else {
                named.append(frame)
            }
        }
        return named
    }

    private func named(_ frame: CrashSignature.Frame, in image: BinaryImage) async throws -> CrashSignature.Frame {
        let address = "0x" + String(image.base + UInt64(frame.offset), radix: 16)
        let output: String
        do {
            output =
                try await run(
                    .name("llvm-symbolizer"),
                    arguments: ["--obj=\(image.file.path)", "--output-style=JSON", "--no-inlines", address],
                    output: .string(limit: 1 << 20), error: .discarded
                ).standardOutput
        } catch {
            throw OptimistError(
                .notFound, "llvm-symbolizer cannot be run. Install LLVM, or omit --symbols.", cause: error)
        }
        var frame = frame
        guard let json = try? JSON(parsing: output.utf8),
            let symbol = (json.array?.first ?? json)["Symbol"]?.array?.first,
            let function = symbol["FunctionName"]?.string, !function.isEmpty
        else { return frame }
        frame.function = await demangled(function)
        // Names such as `<compiler-generated>` are not files.
        if let file = symbol["FileName"]?.string, let name = file.split(separator: "/").last, !name.hasPrefix("<") {
            frame.file = String(name)
        }
        frame.line = symbol["Line"]?.int.flatMap { $0 > 0 ? Int($0) : nil }
        return frame
    }

    /// Returns the name unchanged if `swift-demangle` is not installed.
    private func demangled(_ name: String) async -> String {
        let found = try? await run(
            .name("swift-demangle"), arguments: ["--compact", "--simplified", name],
            output: .string(limit: 1 << 20), error: .discarded
        ).standardOutput
        let text = found?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        return text.isEmpty ? name : text
    }
}
