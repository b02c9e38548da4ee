// This source file is part of the Optimist open source project, under the MIT licence.

import Foundation
import Hummingbird
import Optimist
import OptimistCore
import OptimistServer
import OptimistWire

struct TodoRoutes {
    let park: DevicePark

    func add(to router: Router<some RequestContext>) {
        let device = router.group("lab/devices/:device")
        device.get("todos") { request, context in
            let date = request.uri.queryParameters.get("date")
            return try await park.answer(request, context) { _, phone in
                try await phone.todos(on: date).map(TodoAnswer.init)
            }
        }
        device.post("todos") { request, context in
            let edit = try await edit(request)
            guard let content = edit.content, !content.isEmpty else {
                throw OptimistError(.badLabRequest, "A to-do needs \"content\".")
            }
            var todo = LabTodo(id: UUID(), content: content, date: edit.date ?? Self.today)
            edit.apply(to: &todo)
            return WriteAnswer(try await planner(context).add(todo))
        }
        device.patch("todos/:id") { request, context in
            let (id, edit) = (try id(context), try await edit(request))
            return WriteAnswer(try await planner(context).change(id, edit))
        }
        device.delete("todos/:id") { _, context in
            WriteAnswer(try await planner(context).delete(try id(context)))
        }
        device.get("outbox") { request, context in
            try await park.answer(request, context) { _, phone in
                try await phone.store.pendingRows(limit: 500).map(OutboxAnswer.init)
            }
        }
        addRejections(to: device)
    }

    private func addRejections(to device: RouterGroup<some RequestContext>) {
        device.get("rejections") { request, context in
            try await park.answer(request, context) { _, phone in
                JSONAnswer(.array(try await phone.store.rejections().map(\.controlJSON)))
            }
        }
        device.post("rejections/:number/retry") { request, context in
            let (number, body) = (try number(context), try await request.collected())
            try await phone(context).store.retry(rejectionNumbered: number, body)
            return EmptyAnswer()
        }
        device.delete("rejections/:number") { _, context in
            try await phone(context).store.discard(rejectionNumbered: try number(context))
            return EmptyAnswer()
        }
    }

    // MARK: - Reading requests

    private func phone(_ context: some RequestContext) async throws -> RunningPhone {
        try await park.device(try context.parameters.require("device")).phone()
    }

    private func planner(_ context: some RequestContext) async throws -> any PlannerWriting {
        let device = try await park.device(try context.parameters.require("device"))
        let phone = try await device.phone()
        return await device.isOldWay ? OldWay(phone: phone) : phone
    }

    private func edit(_ request: Request) async throws -> TodoEdit {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(TodoEdit.self, from: try await request.collected())
    }

    private func id(_ context: some RequestContext) throws -> UUID {
        guard let id = UUID(uuidString: try context.parameters.require("id")) else {
            throw OptimistError(.badLabRequest, "The id of a to-do must be a UUID.")
        }
        return id
    }

    private func number(_ context: some RequestContext) throws -> Int64 {
        try context.parameters.require("number", as: Int64.self)
    }

    private static var today: String { Date().formatted(.iso8601.year().month().day()) }
}
