// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import OptimistServer
import OptimistWire

struct ServerRoutes {
    let park: DevicePark
    let server: OptimistServer

    func add(to router: Router<some RequestContext>) {
        router.get("lab/server/todos") { request, _ in
            let name = request.uri.queryParameters.get("account") ?? "planner"
            guard let account = try await park.presentAccount(named: name) else { return JSONAnswer(.array([])) }
            let rows = try await server.rows(account: account, type: "todo", limit: .max)
            return JSONAnswer(
                .array(
                    rows.map { row in
                        var object = JSONObject([("id", .string(row.id))] + row.patch.values.members)
                        object["seq"] = .int(row.seq)
                        return .object(object)
                    }))
        }
        router.get("lab/server/status") { _, _ in
            JSONAnswer([
                "accounts": .int(Int64(try await server.accounts().count)),
                "listeners": .int(Int64(server.listenerCount)),
            ])
        }
    }
}
