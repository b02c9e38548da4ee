// This source file is part of the Optimist open source project, under the MIT licence.

import Hummingbird
import OptimistLoopback

/// The operator's pages, embedded so that the program is a single file.
enum AdminPages {
    private static let script = "text/javascript; charset=utf-8"

    private static let files: [(path: RouterPath, type: String, content: [UInt8])] = [
        ("/", "text/html; charset=utf-8", PackageResources.index_html),
        ("/admin.css", "text/css; charset=utf-8", PackageResources.admin_css),
        ("/admin.svg", "image/svg+xml", PackageResources.admin_svg),
        ("/accounts.js", script, PackageResources.accounts_js),
        ("/api.js", script, PackageResources.api_js),
        ("/dom.js", script, PackageResources.dom_js),
        ("/keys.js", script, PackageResources.keys_js),
        ("/main.js", script, PackageResources.main_js),
        ("/overview.js", script, PackageResources.overview_js),
        ("/refusals.js", script, PackageResources.refusals_js),
        ("/rows.js", script, PackageResources.rows_js),
        ("/spaces.js", script, PackageResources.spaces_js),
        ("/webhooks.js", script, PackageResources.webhooks_js),
    ]

    static func add(to group: RouterGroup<LocalRequestContext>) {
        for file in files {
            group.get(file.path) { _, _ in Response(type: file.type, body: file.content) }
        }
    }
}
