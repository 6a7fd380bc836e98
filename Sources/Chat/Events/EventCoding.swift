import CRDT
import Wire

extension Event: WireValue {
    private enum Number {
        static let message: UInt8 = 1
        static let edit: UInt8 = 2
        static let restore: UInt8 = 3
        static let deleteForMe: UInt8 = 4
        static let deleteForEveryone: UInt8 = 5
        static let pin: UInt8 = 6
        static let unpin: UInt8 = 7
        static let read: UInt8 = 8
        static let delivered: UInt8 = 9
        static let typingOn: UInt8 = 10
        static let typingOff: UInt8 = 11
        static let added: UInt8 = 12
        static let left: UInt8 = 13
        static let archive: UInt8 = 14
        static let unarchive: UInt8 = 15
        static let action: UInt8 = 16
        static let actionDeleted: UInt8 = 17
        static let profile: UInt8 = 18
        static let hide: UInt8 = 19
        static let blocks: UInt8 = 20
    }

    public func encode(into writer: inout ByteWriter) {
        conversation.encode(into: &writer)
        by.encode(into: &writer)
        at.encode(into: &writer)
        switch kind {
        case .message(let view): encode(Number.message, view, into: &writer)
        case .edit(let view): encode(Number.edit, view, into: &writer)
        case .restore(let view): encode(Number.restore, view, into: &writer)
        case .delete(let id, let isForEveryone):
            encode(isForEveryone ? Number.deleteForEveryone : Number.deleteForMe, id, &writer)
        case .pin(let id): encode(Number.pin, id, &writer)
        case .unpin(let id): encode(Number.unpin, id, &writer)
        case .read(let id): encode(Number.read, id, &writer)
        case .delivered(let id): encode(Number.delivered, id, &writer)
        case .typing(let isOn): writer.write(isOn ? Number.typingOn : Number.typingOff)
        case .member(let user, let isIn): encode(isIn ? Number.added : Number.left, user, &writer)
        case .archive: writer.write(Number.archive)
        case .unarchive: writer.write(Number.unarchive)
        case .hide: writer.write(Number.hide)
        case .action(let view): encode(Number.action, view, into: &writer)
        case .actionDeleted(let id): encode(Number.actionDeleted, id, &writer)
        case .profile(let view): encode(Number.profile, view, into: &writer)
        case .blocks(let blocks): encode(Number.blocks, blocks, into: &writer)
        case .level, .heartbeat: preconditionFailure("no node sends it to another node")
        }
    }

    private func encode(_ number: UInt8, _ view: some WireValue, into writer: inout ByteWriter) {
        writer.write(number)
        view.encode(into: &writer)
    }

    private func encode(_ number: UInt8, _ name: some Name, _ writer: inout ByteWriter) {
        writer.write(number)
        writer.write(name)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        conversation = try Optional(from: &reader)
        by = try Optional(from: &reader)
        at = try HybridTimestamp(from: &reader)
        let kind: Kind =
            switch try reader.readByte() {
            case Number.message: .message(try MessageView(from: &reader))
            case Number.edit: .edit(try MessageView(from: &reader))
            case Number.restore: .restore(try MessageView(from: &reader))
            case Number.deleteForMe: .delete(try reader.readName(), isForEveryone: false)
            case Number.deleteForEveryone: .delete(try reader.readName(), isForEveryone: true)
            case Number.pin: .pin(try reader.readName())
            case Number.unpin: .unpin(try reader.readName())
            case Number.read: .read(try reader.readName())
            case Number.delivered: .delivered(try reader.readName())
            case Number.typingOn: .typing(isOn: true)
            case Number.typingOff: .typing(isOn: false)
            case Number.added: .member(try reader.readName(), isIn: true)
            case Number.left: .member(try reader.readName(), isIn: false)
            case Number.archive: .archive
            case Number.unarchive: .unarchive
            case Number.hide: .hide
            case Number.action: .action(try ItemView(from: &reader))
            case Number.actionDeleted: .actionDeleted(try reader.readName())
            case Number.profile: .profile(try ProfileView(from: &reader))
            case Number.blocks: .blocks(try Blocks(from: &reader))
            default: throw .invalid("an event of a known kind")
            }
        self.kind = kind
        sentAt = kind.view?.sentAt
    }
}

/// The coding of data that follows the events in a frame, where nodes of earlier versions ignore
/// it: the sending times of messages that events only name, the events about blocks, and the times
/// of the last changes of items and profiles.
extension [AddressedEvent] {
    public var withoutBlocks: [AddressedEvent] {
        contains { $0.event.kind.blocks != nil } ? filter { $0.event.kind.blocks == nil } : self
    }

    public func encodeRest(into writer: inout ByteWriter) {
        let blocks = filter { $0.event.kind.blocks != nil }
        let named = filter(\.event.kind.onlyNamesMessage)
        let areTimed = named.contains { $0.event.sentAt != nil }
        let changes = compactMap(\.event.kind.lastChanges)
        let haveChanges = changes.contains { $0 != LastChanges() }
        if areTimed || (!named.isEmpty && (!blocks.isEmpty || haveChanges)) {
            named.map { $0.event.sentAt ?? .zero }.encode(into: &writer)
        }
        if !blocks.isEmpty || haveChanges { blocks.encode(into: &writer) }
        if haveChanges { changes.encode(into: &writer) }
    }

    public mutating func readRest(from reader: inout ByteReader) throws(WireError) {
        try readSendTimes(from: &reader)
        guard !reader.isAtEnd else { return }
        let blocks: [AddressedEvent] = try reader.readList(limit: [AddressedEvent].blocksMax)
        try readLastChanges(from: &reader)
        // Events about blocks come first, since they decide which of the other events are shown.
        insert(contentsOf: blocks, at: 0)
    }

    /// The most events about blocks in one frame.
    private static var blocksMax: Int { 65_536 }

    private mutating func readLastChanges(from reader: inout ByteReader) throws(WireError) {
        let indices = indices.filter { self[$0].event.kind.lastChanges != nil }
        guard !indices.isEmpty, !reader.isAtEnd else { return }
        let changes: [LastChanges] = try reader.readList(limit: indices.count)
        guard changes.count == indices.count else { throw .invalid("the times of each value") }
        for (index, changes) in zip(indices, changes) where changes != LastChanges() {
            self[index].setLastChanges(changes)
        }
    }

    private mutating func readSendTimes(from reader: inout ByteReader) throws(WireError) {
        let indices = indices.filter { self[$0].event.kind.onlyNamesMessage }
        guard !indices.isEmpty, !reader.isAtEnd else { return }
        let times: [HybridTimestamp] = try reader.readList(limit: indices.count)
        guard times.count == indices.count else { throw .invalid("a time for each message") }
        for (index, time) in zip(indices, times) where time > .zero {
            self[index].event.sentAt = time
        }
    }
}

extension AddressedEvent: WireValue {
    public func encode(into writer: inout ByteWriter) {
        event.encode(into: &writer)
        writer.write(change != nil)
        if let change {
            writer.writeOptional(change.replaced) { $0.write(fixed: $1) }
        } else {
            audience.encode(into: &writer)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        event = try Event(from: &reader)
        guard try reader.readFlag() else {
            change = nil
            audience = try reader.readUsers()
            return
        }
        guard case .profile(let view) = event.kind else { throw .invalid("a profile's change") }
        let replaced: UInt32? = try reader.readFlag() ? try reader.readFixed() : nil
        change = ProfileChange(view, replacing: replaced)
        audience = []
    }
}

extension AddressedEvent {
    mutating func setLastChanges(_ changes: LastChanges) {
        event.setLastChanges(changes)
        guard let change, case .profile(let view) = event.kind else { return }
        self.change = ProfileChange(view, replacing: change.replaced)
    }
}

extension Event {
    mutating func setLastChanges(_ changes: LastChanges) {
        switch kind {
        case .action(var view):
            view.lastChanges = changes
            kind = .action(view)
        case .profile(var view):
            view.lastChanges = changes
            kind = .profile(view)
        default: break
        }
    }
}

extension Event.Kind {
    /// The times of the last changes of an item or a profile; nil for other events.
    var lastChanges: LastChanges? {
        switch self {
        case .action(let view): view.lastChanges ?? LastChanges()
        case .profile(let view): view.lastChanges ?? LastChanges()
        default: nil
        }
    }
}
