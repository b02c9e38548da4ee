// This source file is part of the Optimist open source project, under the MIT licence.

package import Hummingbird

/// A request with the port on which it came.
package struct LocalRequestContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    let port: Int

    package init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        port = source.channel.localAddress?.port ?? 0
    }
}
