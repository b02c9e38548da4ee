// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird

/// Records each answer by route template, method and status, with the time until the answer began. An event stream may
/// last for hours after that.
///
/// As a label, Hummingbird's own middleware uses any method that a client sends.
struct RequestMetrics: RouterMiddleware {
    let metrics: ServerMetrics

    func handle(
        _ request: Hummingbird.Request, context: ServerContext,
        next: @concurrent (Hummingbird.Request, ServerContext) async throws -> Hummingbird.Response
    ) async throws -> Hummingbird.Response {
        let start = ContinuousClock.now
        let response = try await next(request, context)
        metrics.answered(
            route: context.endpointPath ?? "NotFound", method: Self.label(request.method),
            status: response.status.code, after: start.duration(to: .now))
        return response
    }

    private static func label(_ method: HTTPRequest.Method) -> String {
        RequestCheck.methods.contains(method) ? method.rawValue : "other"
    }
}
