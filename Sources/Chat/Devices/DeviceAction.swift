import CRDT
import Wire

/// A user's change of one of their devices, or the node's on their behalf.
///
/// Each action is a type, with its entry in `Device.actions`.
public protocol DeviceAction: DocumentAction where Content == Device {
    func apply(to device: inout Device, at stamp: Stamp)
}

extension Device {
    static let actions: [any DocumentAction.Type] = [
        AddDevice.self, RegisterDevice.self, RemoveDevice.self, RemoveSignedOut.self,
        RemoveToken.self, ViewConversation.self, LeaseView.self, EndLeasedView.self,
        ListNotifications.self, AcknowledgeThrough.self, AcknowledgeAlone.self, NotePushed.self,
    ]
}

extension Mutation {
    public convenience init(_ action: some DeviceAction, on device: DeviceID, by user: UserID) {
        self.init(action, at: .device(device, of: user), by: user)
    }
}

extension DeviceAction {
    public func applied(
        to content: Device?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Device {
        precondition(
            content != nil || self is any DeviceAddition, "judge refuses what is not there")
        var device = content ?? Device()
        apply(to: &device, at: author.stamp)
        return device
    }
}

extension Device? {
    /// The device if its user has added it and not removed it since.
    var registered: Device? { flatMap { $0.isRegistered ? $0 : nil } }

    var found: Device {
        get throws(Refusal) {
            guard let self else { throw .deviceNotFound }
            return self
        }
    }
}

/// An action whose only parameter is the token with which a push service addresses the device.
public protocol TokenAction: DeviceAction {
    var token: FieldText { get }

    init(_ token: FieldText)
}

extension TokenAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(try FieldText(from: &reader))
    }

    public func encodeRest(into writer: inout ByteWriter) { token.encode(into: &writer) }

    public func nameBytes(by user: UserID) -> Int { ChatLimits.titleBytesMax }
}

// MARK: Additions

/// An action that adds a device, or replaces its token.
public protocol DeviceAddition: DeviceAction {}

extension DeviceAddition {
    public func stampsOverwritten(in content: Device) -> [Stamp?]? {
        [content.removed, content.tokenField?.stamp]
    }

    public func isRecorded(over content: Device, after time: HybridTimestamp) -> Bool {
        overwritesOnlyEarly(in: content, time)
    }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(key.id) || condition(user.text)
    }
}

/// An action that adds a device, or replaces its token, and says nothing of its sign-in.
public struct AddDevice: DeviceAddition, TokenAction {
    public static let codes = [ActionCode(30, 1)]

    public let token: FieldText

    public init(_ token: FieldText) { self.token = token }

    public func judge(
        _ device: Device?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        device.registered.map { !haveSameBytes($0.token, token.text) } ?? true
    }

    public func apply(to device: inout Device, at stamp: Stamp) { device.add(token, at: stamp) }
}

/// An action that adds a device, or replaces its token, for a sign-in or for none.
public struct RegisterDevice: DeviceAddition {
    public static let codes = [ActionCode(30, 10)]

    public let token: FieldText
    public let registration: DeviceRegistration

    public init(_ token: FieldText, _ registration: DeviceRegistration) {
        self.token = token
        self.registration = registration
    }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        token = try FieldText(from: &reader)
        registration = try DeviceRegistration(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) {
        token.encode(into: &writer)
        registration.encode(into: &writer)
    }

    public func judge(
        _ device: Device?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        device.registered.map {
            !haveSameBytes($0.token, token.text) || $0.registration != registration
        } ?? true
    }

    public func apply(to device: inout Device, at stamp: Stamp) {
        device.register(token, registration, at: stamp)
    }

    public func nameBytes(by user: UserID) -> Int { ChatLimits.titleBytesMax + 2 * nameBytesMax }
}

// MARK: Removals

/// An action that removes a device, and overwrites all its values.
public protocol DeviceRemoval: DeviceAction {}

extension DeviceRemoval {
    public func apply(to device: inout Device, at stamp: Stamp) { device.remove(at: stamp) }

    public func stampsOverwritten(in content: Device) -> [Stamp?]? {
        [
            content.removed, content.added, content.tokenField?.stamp,
            content.viewings.last?.stamp,
        ]
    }

    /// A device that is registered, but does not meet the condition of the removal, stays as it is.
    public func isRecorded(over content: Device, after time: HybridTimestamp) -> Bool {
        !content.isRegistered && overwritesOnlyEarly(in: content, time)
    }

    public var growth: ActionGrowth { .empties }
}

/// An action that removes a device, whatever it says.
public struct RemoveDevice: DeviceRemoval, PlainAction {
    public static let codes = [ActionCode(30, 2)]

    public init() {}

    public func judge(
        _ device: Device?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try device.found.isRegistered
    }
}

/// An action that removes a device if it still belongs to a sign-in.
public struct RemoveSignedOut: DeviceRemoval {
    public static let codes = [ActionCode(30, 11)]

    /// Nil for any sign-in.
    public let signIn: SignInID?

    public init(_ signIn: SignInID?) { self.signIn = signIn }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        signIn = try Optional(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { signIn.encode(into: &writer) }

    public func judge(
        _ device: Device?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try device.found.signIn.map { signIn == nil || $0.id == signIn } ?? false
    }
}

/// An action that removes a device if it still has a token.
public struct RemoveToken: DeviceRemoval, TokenAction {
    public static let codes = [ActionCode(30, 8)]

    public let token: FieldText

    public init(_ token: FieldText) { self.token = token }

    public func judge(
        _ device: Device?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        haveSameBytes(try device.found.token, token.text)
    }
}

// MARK: Changes of a registered device

/// An action on a device that its user has added and not removed.
public protocol RegisteredDeviceAction: DeviceAction {
    func changes(_ device: Device) -> Bool
}

extension RegisteredDeviceAction {
    public func judge(
        _ device: Device?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        changes(try device.registered.found)
    }
}

/// An action that sets the conversation that a device shows.
public protocol ViewAction: RegisteredDeviceAction {}

extension ViewAction {
    /// Also where the device shows the conversation already: on the other side of a network
    /// partition an earlier action may have set another one, which would win.
    public func changes(_ device: Device) -> Bool { true }

    public func stampsOverwritten(in content: Device) -> [Stamp?]? {
        [content.removed] + content.viewings.map(\.stamp)
    }

    public func isRecorded(over content: Device, after time: HybridTimestamp) -> Bool {
        overwritesOnlyEarly(in: content, time)
    }
}

/// An action that sets the conversation that a device shows, until the next such action.
public struct ViewConversation: ViewAction {
    public static let codes = [ActionCode(30, 3)]

    /// Nil where the device shows none.
    public let conversation: ConversationID?

    public init(_ conversation: ConversationID?) { self.conversation = conversation }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        conversation = try Optional(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { conversation.encode(into: &writer) }

    public func apply(to device: inout Device, at stamp: Stamp) {
        device.view(conversation, at: stamp)
    }
}

/// An action that sets the conversation that a device shows, for ten minutes or until the next such
/// action.
public struct LeaseView: ViewAction {
    public static let codes = [ActionCode(30, 12)]

    public let conversation: ConversationID

    public init(_ conversation: ConversationID) { self.conversation = conversation }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        conversation = try reader.readName()
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(conversation) }

    public func apply(to device: inout Device, at stamp: Stamp) {
        device.view(conversation, isLeased: true, at: stamp)
    }
}

/// An action that ends a leased viewing, unless it began after a time.
public struct EndLeasedView: ViewAction {
    public static let codes = [ActionCode(30, 13)]

    public let upTo: HybridTimestamp

    public init(upTo: HybridTimestamp) { self.upTo = upTo }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        upTo = try HybridTimestamp(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { upTo.encode(into: &writer) }

    public func changes(_ device: Device) -> Bool {
        device.viewings.last.map { $0.isLeased && $0.stamp.time <= upTo } ?? false
    }

    public func apply(to device: inout Device, at stamp: Stamp) { device.view(nil, at: stamp) }

    /// A viewing that began later stays.
    public func isRecorded(over content: Device, after time: HybridTimestamp) -> Bool { false }

    public var growth: ActionGrowth { .settles }
}
