// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Darwin) || AsyncHTTPClient
    public import Foundation
    public import Logging
    public import OptimistCore

    extension Session {
        /// Makes a session with the system's transport: `URLSession` on Apple's systems, AsyncHTTPClient elsewhere.
        public convenience init(
            server: URL, credentials: any CredentialStore, configuration: SessionConfiguration = SessionConfiguration(),
            reachability: (any Reachability)? = nil, dependencies: Dependencies = Dependencies(),
            logger: Logger = Logger(label: "optimist.session")
        ) {
            #if canImport(Darwin)
                let transport = URLSessionTransport()
            #else
                let transport = AsyncHTTPClientTransport.shared
            #endif
            self.init(
                server: server, transport: transport, credentials: credentials, configuration: configuration,
                reachability: reachability, dependencies: dependencies, logger: logger)
        }
    }
#endif
