// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import OptimistServer

/// The simulated people's health. `GET /health` is the server's own page.
struct PeopleRoutes {
    let people: SimulatedPeople
    let server: OptimistServer

    func add(to router: Router<some RequestContext>) {
        router.post("lab/health/people") { _, _ in
            try await people.come()
            return HTTPResponse.Status.noContent
        }
        HealthRoutes(server).add(to: router)
    }
}
