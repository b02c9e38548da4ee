// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird

struct ValueAnswer<Value: Encodable & Sendable>: ResponseEncodable {
    private let value: Value

    init(_ value: Value) { self.value = value }

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

extension DevicePark {
    nonisolated func answer<Answer: ResponseGenerator>(
        _ request: Request, _ context: some RequestContext,
        _ show: (LabDevice, RunningPhone) async throws -> Answer
    ) async throws -> Response {
        let device = try await device(try context.parameters.require("device"))
        guard let phone = try? await device.phone() else { return Response(status: .noContent) }
        return try await show(device, phone).response(from: request, context: context)
    }
}
