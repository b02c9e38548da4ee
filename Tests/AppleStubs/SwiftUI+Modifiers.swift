// This source file is part of the Optimist open source project, under the MIT licence.

// The values, modifiers and property wrappers of SwiftUI that apps use: see SwiftUI+Controls.swift.
public import Foundation
public import Observation

// MARK: - Values

public struct Axis: Sendable {
    public static let horizontal = Axis()
    public static let vertical = Axis()
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let horizontal = Set(rawValue: 1)
        public static let vertical = Set(rawValue: 2)
    }
}

public struct Alignment: Equatable, Sendable {
    public static let center = Alignment()
    public static let leading = Alignment()
    public static let trailing = Alignment()
    public static let topLeading = Alignment()
    public static let bottomTrailing = Alignment()
}

extension HorizontalAlignment {
    public static let trailing = HorizontalAlignment()
}

extension VerticalAlignment {
    public static let top = VerticalAlignment()
    public static let bottom = VerticalAlignment()
    public static let firstTextBaseline = VerticalAlignment()
}

public struct Edge: Sendable {
    public struct Set: OptionSet, Sendable {
        public let rawValue: Int8
        public init(rawValue: Int8) { self.rawValue = rawValue }
        public static let top = Set(rawValue: 1)
        public static let leading = Set(rawValue: 2)
        public static let bottom = Set(rawValue: 4)
        public static let trailing = Set(rawValue: 8)
        public static let horizontal: Set = [.leading, .trailing]
        public static let vertical: Set = [.top, .bottom]
        public static let all: Set = [.horizontal, .vertical]
    }
}

public enum HorizontalEdge: Sendable { case leading, trailing }

public protocol ShapeStyle: Sendable {}

public struct Color: ShapeStyle, Hashable, Drawn {
    public nonisolated static let red = Color()
    public nonisolated static let orange = Color()
    public nonisolated static let green = Color()
    public nonisolated static let blue = Color()
    public nonisolated static let gray = Color()
    public nonisolated static let primary = Color()
    public nonisolated static let secondary = Color()
    private nonisolated init() {}
}

extension ShapeStyle where Self == Color {
    public static var red: Color { Color.red }
    public static var orange: Color { Color.orange }
    public static var green: Color { Color.green }
    public static var blue: Color { Color.blue }
    public static var gray: Color { Color.gray }
}

public struct HierarchicalShapeStyle: ShapeStyle {}

extension ShapeStyle where Self == HierarchicalShapeStyle {
    public static var primary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
    public static var secondary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
    public static var tertiary: HierarchicalShapeStyle { HierarchicalShapeStyle() }
}

extension Font {
    public static let largeTitle = Font()
    public static let title = Font()
    public static let title2 = Font()
    public static let title3 = Font()
    public static let body = Font()
    public static let callout = Font()
    public static let caption = Font()
    public enum Weight: Sendable { case regular, medium, semibold, bold }
    public func bold() -> Font { self }
    public func weight(_ weight: Weight) -> Font { self }
    public func monospacedDigit() -> Font { self }
}

public struct BorderedProminentButtonStyle: PrimitiveButtonStyle {}

extension PrimitiveButtonStyle where Self == BorderedProminentButtonStyle {
    public static var borderedProminent: BorderedProminentButtonStyle { BorderedProminentButtonStyle() }
}

public struct PlainButtonStyle: PrimitiveButtonStyle {}

extension PrimitiveButtonStyle where Self == PlainButtonStyle {
    public static var plain: PlainButtonStyle { PlainButtonStyle() }
}

public enum Visibility: Sendable { case automatic, visible, hidden }

public struct ToolbarItemPlacement: Sendable {
    public static let automatic = ToolbarItemPlacement()
    public static let primaryAction = ToolbarItemPlacement()
    public static let cancellationAction = ToolbarItemPlacement()
    public static let confirmationAction = ToolbarItemPlacement()
    public static let topBarLeading = ToolbarItemPlacement()
    public static let topBarTrailing = ToolbarItemPlacement()
    public static let bottomBar = ToolbarItemPlacement()
}

// MARK: - Modifiers

public protocol ToolbarContent {}

public struct ToolbarItem<ID, Content: View>: ToolbarContent {}

extension ToolbarItem where ID == () {
    public nonisolated init(placement: ToolbarItemPlacement = .automatic, @ViewBuilder content: () -> Content) {}
}

@resultBuilder
public enum ToolbarContentBuilder {
    public static func buildBlock<each Content: ToolbarContent>(_ content: repeat each Content) -> some ToolbarContent {
        ToolbarItem<(), EmptyView> { EmptyView() }
    }
}

extension View {
    public nonisolated func toolbar<Content: ToolbarContent>(@ToolbarContentBuilder content: () -> Content) -> some View
    {
        Changed()
    }
    public nonisolated func padding(_ edges: Edge.Set = .all, _ length: CGFloat? = nil) -> some View { Changed() }
    public nonisolated func padding(_ length: CGFloat) -> some View { Changed() }
    public nonisolated func frame(
        width: CGFloat? = nil, height: CGFloat? = nil, alignment: Alignment = .center
    ) -> some View { Changed() }
    public nonisolated func frame(
        minWidth: CGFloat? = nil, maxWidth: CGFloat? = nil, minHeight: CGFloat? = nil, maxHeight: CGFloat? = nil,
        alignment: Alignment = .center
    ) -> some View { Changed() }
    public nonisolated func foregroundStyle<S: ShapeStyle>(_ style: S) -> some View { Changed() }
    public nonisolated func background<S: ShapeStyle>(_ style: S) -> some View { Changed() }
    public nonisolated func tint(_ tint: Color?) -> some View { Changed() }
    public nonisolated func opacity(_ opacity: Double) -> some View { Changed() }
    public nonisolated func lineLimit(_ number: Int?) -> some View { Changed() }
    public nonisolated func strikethrough(_ isActive: Bool = true) -> some View { Changed() }
    public nonisolated func bold(_ isActive: Bool = true) -> some View { Changed() }
    public nonisolated func monospacedDigit() -> some View { Changed() }
    public nonisolated func labelsHidden() -> some View { Changed() }
    public nonisolated func tag<V: Hashable>(_ tag: V) -> some View { Changed() }
    public nonisolated func badge(_ count: Int) -> some View { Changed() }
    public nonisolated func id<ID: Hashable>(_ id: ID) -> some View { Changed() }
    public nonisolated func onTapGesture(count: Int = 1, perform action: @escaping () -> Void) -> some View {
        Changed()
    }
    public nonisolated func onSubmit(_ action: @escaping (() -> Void)) -> some View { Changed() }
    public nonisolated func onChange<V: Equatable>(
        of value: V, initial: Bool = false, _ action: @escaping () -> Void
    ) -> some View { Changed() }
    public nonisolated func onChange<V: Equatable>(
        of value: V, initial: Bool = false, _ action: @escaping (V, V) -> Void
    ) -> some View { Changed() }
    public nonisolated func swipeActions<T: View>(
        edge: HorizontalEdge = .trailing, allowsFullSwipe: Bool = true, @ViewBuilder content: () -> T
    ) -> some View { Changed() }
    public nonisolated func contextMenu<MenuItems: View>(@ViewBuilder menuItems: () -> MenuItems) -> some View {
        Changed()
    }
    public nonisolated func searchable(text: Binding<String>, prompt: LocalizedStringKey) -> some View { Changed() }
    public nonisolated func searchable(text: Binding<String>) -> some View { Changed() }
    public nonisolated func sheet<Content: View>(
        isPresented: Binding<Bool>, onDismiss: (() -> Void)? = nil, @ViewBuilder content: @escaping () -> Content
    ) -> some View { Changed() }
    public nonisolated func alert<A: View>(
        _ titleKey: LocalizedStringKey, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A
    ) -> some View { Changed() }
    public nonisolated func alert<A: View, M: View>(
        _ titleKey: LocalizedStringKey, isPresented: Binding<Bool>, @ViewBuilder actions: () -> A,
        @ViewBuilder message: () -> M
    ) -> some View { Changed() }
    public nonisolated func confirmationDialog<A: View>(
        _ titleKey: LocalizedStringKey, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic,
        @ViewBuilder actions: () -> A
    ) -> some View { Changed() }
    @_disfavoredOverload
    public nonisolated func confirmationDialog<S: StringProtocol, A: View, M: View, T>(
        _ title: S, isPresented: Binding<Bool>, titleVisibility: Visibility = .automatic, presenting data: T?,
        @ViewBuilder actions: (T) -> A, @ViewBuilder message: (T) -> M
    ) -> some View { Changed() }
    public nonisolated func onOpenURL(perform action: @escaping (URL) -> Void) -> some View { Changed() }
    public nonisolated func navigationDestination<D: Hashable, C: View>(
        for data: D.Type, @ViewBuilder destination: @escaping (D) -> C
    ) -> some View { Changed() }
    public nonisolated func overlay<V: View>(
        alignment: Alignment = .center, @ViewBuilder content: () -> V
    ) -> some View { Changed() }
    public nonisolated func tabItem<V: View>(@ViewBuilder _ label: () -> V) -> some View { Changed() }
    @_disfavoredOverload
    public nonisolated func navigationTitle<S: StringProtocol>(_ title: S) -> some View { Changed() }
    public nonisolated func environment<T: AnyObject & Observable>(_ object: T?) -> some View { Changed() }
    public nonisolated func focused(_ condition: FocusState<Bool>.Binding) -> some View { Changed() }
}

// MARK: - Data

extension State {
    public init(initialValue value: Value) { fatalError() }
}

extension Binding {
    public static func constant(_ value: Value) -> Binding<Value> { fatalError() }
}

extension Environment {
    public init(_ objectType: Value.Type) where Value: AnyObject & Observable {}
    public init<T: AnyObject & Observable>(_ objectType: T.Type) where Value == T? {}
}

@propertyWrapper
@dynamicMemberLookup
public struct Bindable<Value> {
    public init(wrappedValue: Value) where Value: AnyObject & Observable { fatalError() }
    public var wrappedValue: Value { fatalError() }
    public var projectedValue: Bindable<Value> { self }
    public subscript<Subject>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject>
    where Value: AnyObject { fatalError() }
}

@propertyWrapper
public struct AppStorage<Value>: DynamicProperty {
    public init(wrappedValue: Value, _ key: String) where Value == String { fatalError() }
    public init(wrappedValue: Value, _ key: String) where Value == Bool { fatalError() }
    public init(wrappedValue: Value, _ key: String) where Value == Int { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
    public var projectedValue: Binding<Value> { fatalError() }
}

@propertyWrapper
public struct FocusState<Value: Hashable>: DynamicProperty {
    public init() where Value == Bool { fatalError() }
    public var wrappedValue: Value {
        get { fatalError() }
        nonmutating set { fatalError() }
    }
    public var projectedValue: Binding { fatalError() }
    public struct Binding {}
}

public struct DismissAction {
    @MainActor @preconcurrency public func callAsFunction() {}
}

extension EnvironmentValues {
    public var dismiss: DismissAction { fatalError() }
    public var locale: Locale {
        get { fatalError() }
        set { fatalError() }
    }
    public var calendar: Calendar {
        get { fatalError() }
        set { fatalError() }
    }
}
