// This source file is part of the Optimist open source project, under the MIT licence.

// As much of Apple's SwiftUI as our adapters use, to type-check them elsewhere.
@MainActor
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    public var body: Never { fatalError() }
}

@resultBuilder
public enum ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

@propertyWrapper
public struct State<Value> {
    public init(wrappedValue: Value) { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
}

extension State where Value: ExpressibleByNilLiteral {
    public init() { fatalError() }
}

public struct Changed: View {
    public var body: Never { fatalError() }
}

extension View {
    public func task<ID: Equatable>(id: ID, _ action: @escaping @MainActor @Sendable () async -> Void) -> some View {
        Changed()
    }
}
