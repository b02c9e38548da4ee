// This source file is part of the Optimist open source project, under the MIT licence.

import Logging
import OptimistCore
@_spi(Internals) import OptimistServing

extension ServerConfiguration {
    func reports(on storage: OpenedStorage) -> AppReports? {
        didApply.map {
            AppReports(
                rows: storage.rows, schema: schema, didApply: $0, exclusively: storage.reporting,
                clock: dependencies.clock, logger: logger)
        }
    }

    func deliveries(on storage: OpenedStorage) -> [WebhookDeliveries] {
        webhooks.map { webhook in
            let call = SignedCall(url: webhook.url, secrets: webhook.secrets, dependencies: dependencies)
            return WebhookDeliveries(
                webhook, rows: storage.rows, store: storage.accounts, schema: schema,
                exclusively: { await storage.delivering(webhook.name, $0) },
                post: { try await call.post($0.body, id: $0.id, within: webhook.timeout).status },
                metrics: metricsReceiver.map { WebhookMetrics(webhook.name, $0) }, dependencies: dependencies,
                logger: logger)
        }
    }

    var loggingHook: GroupHook? {
        guard var hook else { return nil }
        hook.onFailure = { [onFailure = hook.onFailure, address = hook.address, logger] failure in
            var metadata: Logger.Metadata = [:]
            if let address { metadata["hook"] = "\(address)" }
            switch failure {
            case .late:
                if address != nil { metadata["failure"] = "\(DeliverySchedule.Failure.late)" }
                logger.error("The app's willApply took too long. The group was deferred.", metadata: metadata)
            case .threw(let error):
                switch error {
                case let call as DeliverySchedule.Failure: metadata["failure"] = "\(call)"
                case is HookAnswer.Malformed: metadata["failure"] = "malformed"
                // Its description may have what people wrote.
                default: metadata["error.type"] = "\(type(of: error))"
                }
                logger.error("The app's willApply failed. The group was deferred.", metadata: metadata)
            case .badAmendment(let key):
                metadata["row.type"] = "\(key.type)"
                logger.error(
                    "The app's willApply made an amendment that is not allowed or fails a check. The group was deferred.",
                    metadata: metadata)
            }
            onFailure(failure)
        }
        return hook
    }
}
