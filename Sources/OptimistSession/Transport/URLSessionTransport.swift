// This source file is part of the Optimist open source project, under the MIT licence.

// On Linux, URLSession blocks under many cancellations and buffers without bound, so this file is compiled there only
// in debug builds, for tests.
#if canImport(Darwin) || CheckURLSessionTransport
    import HTTPTypes
    import OptimistCore

    #if canImport(FoundationNetworking)
        import Foundation
        public import FoundationNetworking
    #else
        public import Foundation
    #endif

    /// The transport for Apple's systems, on `URLSession`.
    ///
    /// It does not follow redirects, does not store cookies or cache answers, and stops receiving while the body is not
    /// read. Long exchanges have separate connections, so that calls never wait for them.
    public final class URLSessionTransport: Transport {
        private let calls: URLSession
        private let longExchanges: URLSession
        private let exchanges = Exchanges()
        private let longOnes = Exchanges()
        private let deadlines = Deadlines(Dependencies())

        /// Makes a transport.
        ///
        /// - Parameter configuration: Default: ephemeral, without cookies and cache. Its idle timeout is ignored,
        ///   because requests and their callers set the timeouts. Long exchanges get at least 64 connections per host.
        public init(configuration: URLSessionConfiguration = URLSessionTransport.defaultConfiguration) {
            calls = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
            let roomy = configuration.copy() as? URLSessionConfiguration ?? configuration
            roomy.httpMaximumConnectionsPerHost = max(roomy.httpMaximumConnectionsPerHost, 64)
            longExchanges = URLSession(configuration: roomy, delegate: longOnes, delegateQueue: nil)
        }

        deinit {
            calls.finishTasksAndInvalidate()
            longExchanges.finishTasksAndInvalidate()
        }

        /// An ephemeral configuration: no cookies, no cache, nothing on disk, and eight connections per host.
        public static var defaultConfiguration: URLSessionConfiguration {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpCookieStorage = nil
            configuration.urlCache = nil
            configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
            configuration.httpMaximumConnectionsPerHost = 8
            return configuration
        }

        public func send(_ request: TransportRequest) async throws -> TransportResponse {
            try Task.checkCancellation()
            guard let urlRequest = URLRequest(request) else { throw TransportError(.unsupported, .notSent) }
            let session = request.isLong ? longExchanges : calls
            let exchanges = request.isLong ? longOnes : exchanges
            let task: URLSessionDataTask =
                request.bodyFile.map { session.uploadTask(with: urlRequest, fromFile: $0) }
                ?? session.dataTask(with: urlRequest)
            let inbox = Inbox(task)
            exchanges.add(inbox, for: task.taskIdentifier)
            let alarm = deadlines.add(after: request.headTimeout) {
                inbox.abandon(TransportError(.timedOut, .maybeProcessed))
            }
            defer { deadlines.remove(alarm) }
            let head = try await withTaskCancellationHandler {
                task.resume()
                return try await inbox.head()
            } onCancel: {
                inbox.abandon()
            }
            return TransportResponse(head: head, body: ResponseBody(InboxChunks(inbox: inbox)))
        }
    }

    extension URLRequest {
        fileprivate init?(_ request: TransportRequest) {
            guard let url = request.url else { return nil }
            let head = request.head
            self.init(url: url)
            // An event stream may be silent for hours. `headTimeout` is measured separately.
            timeoutInterval = 365 * 24 * 3600
            httpMethod = head.method.rawValue
            httpBody = request.body.isEmpty ? nil : Data(request.body)
            for field in head.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
        }
    }

    /// Forwards the system's callbacks to the inbox of their exchange, while the inbox exists.
    private final class Exchanges: NSObject, URLSessionDataDelegate {
        /// Weak, because an inbox is owned by its reader and ends the exchange when it is released.
        private struct Entry {
            weak var inbox: Inbox?
        }

        private let entries = Mutex<[Int: Entry]>([:])

        func add(_ inbox: Inbox, for task: Int) { entries.withLock { $0[task] = Entry(inbox: inbox) } }

        private func inbox(_ task: URLSessionTask) -> Inbox? { entries.withLock { $0[task.taskIdentifier]?.inbox } }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
            completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
        ) {
            guard let response = response as? HTTPURLResponse, let head = HTTPResponse(response) else {
                inbox(dataTask)?.finish(TransportError(.broken, .maybeProcessed))
                return completionHandler(.cancel)
            }
            inbox(dataTask)?.receive(head)
            completionHandler(.allow)
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            inbox(dataTask)?.receive(Array(data))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            entries.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.inbox?.finish(error)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }

    extension HTTPResponse {
        /// Returns nil for an invalid status, which could crash `Status`.
        fileprivate init?(_ response: HTTPURLResponse) {
            guard 100...999 ~= response.statusCode, response.statusCode != 101 else { return nil }
            self.init(status: Status(code: response.statusCode))
            for (name, value) in response.allHeaderFields {
                guard let name = name as? String, let value = value as? String else { continue }
                guard let name = HTTPField.Name(name) else { continue }
                headerFields.append(HTTPField(name: name, value: value))
            }
        }
    }
#endif
