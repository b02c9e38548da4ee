// This source file is part of the Optimist open source project, under the MIT licence.

import HTTPTypes
import Hummingbird
import OptimistWire

extension Routes {
    /// One hour, in seconds.
    private static let associationMaxAge = 3_600

    /// Adds the routes of invitation links for browsers and Apple's systems. Their answers never change.
    func addJoinPage(_ page: JoinPage, to router: Router<ServerContext>) {
        let (association, html) = (page.association.bytes, Array(page.html.utf8))
        router.get("/.well-known/apple-app-site-association") { _, _ in
            var response = Response(body: association)
            response.headers[.cacheControl] = "public, max-age=\(Self.associationMaxAge)"
            return response
        }
        router.get("/join") { _, _ in
            var response = Response(type: "text/html; charset=utf-8", body: html)
            response.headers[.contentSecurityPolicy] = JoinPage.policy
            response.headers[.xContentTypeOptions] = "nosniff"
            response.headers[.referrerPolicy] = "no-referrer"
            return response
        }
    }
}
