// This source file is part of the Optimist open source project, under the MIT licence.

// The subset of Apple's BackgroundTasks that the adapters use, for type-checking on other systems.
public import Dispatch
public import Foundation

open class BGTask: NSObject {
    open var identifier: String { fatalError() }
    open var expirationHandler: (() -> Void)?
    open func setTaskCompleted(success: Bool) {}
}

open class BGTaskRequest: NSObject {
    open var earliestBeginDate: Date?
}

open class BGAppRefreshTaskRequest: BGTaskRequest {
    public init(identifier: String) { fatalError() }
}

open class BGTaskScheduler: NSObject {
    open class var shared: BGTaskScheduler { fatalError() }
    open func register(
        forTaskWithIdentifier identifier: String, using queue: DispatchQueue?,
        launchHandler: @escaping (BGTask) -> Void
    ) -> Bool { false }
    open func submit(_ taskRequest: BGTaskRequest) throws {}
}
