// This source file is part of the Optimist open source project, under the MIT licence.

package import Hummingbird

/// A request context with the local port of the connection.
package struct LocalRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    let port: Int

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        port = source.channel.localAddress?.port ?? 0
    }
}
