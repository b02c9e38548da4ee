// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
@_spi(Internals) import OptimistServing
@_spi(Internals) import OptimistWire

extension Routes {
    /// `POST /spaces/invitation`, without a token: previews an invitation for a person who has its link. The secret is in
    /// the body, because addresses are logged.
    func addInvitation(to router: Router<ServerContext>) {
        router.post("/spaces/invitation") { request, context in
            try await accounts.limit(caller(request, context))
            let json = try await json(request, context)
            guard let space = json["space"]?.string, let secret = json["secret"]?.string else {
                throw AuthRefusal.invalidRequest("\"space\" and \"secret\" are required.")
            }
            guard let preview = try await service.invitation(to: space, secret: secret) else {
                throw RequestProblem(
                    type: "about:blank", status: 404,
                    detail: "The invitation does not exist, or is not valid any more.")
            }
            return Response(body: preview.json.bytes)
        }
    }
}
