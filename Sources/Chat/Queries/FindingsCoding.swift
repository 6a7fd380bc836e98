import CRDT
import Wire

/// The encoding of findings between nodes; all counts and lengths are bounded.
extension Findings: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .messages(let views): write(1, views, to: &writer)
        case .edits(let views): write(2, views, to: &writer)
        case .chats(let views):
            write(views.contains(where: \.isHidden) ? 33 : 3, views, to: &writer)
        case .unread(let counts): write(4, counts, to: &writer)
        case .profile(let view):
            writer.write(5)
            view.encode(into: &writer)
        case .actions(let views): write(6, views, to: &writer)
        case .users(let users):
            writer.write(7)
            users.encode(into: &writer)
        case .marks(let views): write(8, views, to: &writer)
        case .changes(let changes): write(38, changes, to: &writer)
        case .devices(let views): write(23, views, to: &writer)
        case .names(let views): write(24, views, to: &writer)
        case .profiles(let views): write(25, views, to: &writer)
        case .accounts(let views): write(26, views, to: &writer)
        case .signing(let signing):
            writer.write(27)
            signing.encode(into: &writer)
        case .file(let view):
            writer.write(view.tag == nil ? 28 : 30)
            view.encode(into: &writer)
            if let tag = view.tag { writer.write(tag) }
        case .part(let bytes):
            writer.write(29)
            writer.write(bytes)
        case .standing(let standing):
            writer.write(31)
            standing.encode(into: &writer)
        case .holders(let holders): write(32, holders, to: &writer)
        case .blocks(let blocks):
            writer.write(34)
            blocks.encode(into: &writer)
        case .blockViews(let views): write(35, views, to: &writer)
        case .acquaintance(let acquaintance):
            writer.write(36)
            acquaintance.encode(into: &writer)
        case .bytes(let count):
            writer.write(37)
            writer.write(varint: count)
        case .device(let device):
            writer.write(20)
            device.encode(into: &writer)
        case .candidates(let candidates): write(21, candidates, to: &writer)
        case .notifications(let views): write(22, views, to: &writer)
        }
    }

    private func write(_ kind: UInt8, _ views: [some WireValue], to writer: inout ByteWriter) {
        writer.write(kind)
        views.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case 1: self = .messages(try reader.readList())
        case 2: self = .edits(try reader.readList())
        case 3: self = .chats(try reader.readList())
        case 33:
            var views: [ChatView] = try reader.readList()
            // Only the view of one conversation may be of a hidden one.
            for index in views.indices { views[index].isHidden = true }
            self = .chats(views)
        case 4: self = .unread(try reader.readList())
        case 5: self = .profile(try ProfileView(from: &reader))
        case 6: self = .actions(try reader.readList())
        case 7: self = .users(try reader.readUsers())
        case 8: self = .marks(try reader.readList())
        case 20: self = .device(try Device(from: &reader))
        case 21: self = .candidates(try reader.readList())
        case 22: self = .notifications(try reader.readList())
        case 23: self = .devices(try reader.readList())
        case 24: self = .names(try reader.readList())
        case 25: self = .profiles(try reader.readList())
        case 26: self = .accounts(try reader.readList())
        case 27: self = .signing(try Signing(from: &reader))
        case 28: self = .file(try FileView(from: &reader))
        case 30:
            var view = try FileView(from: &reader)
            view.tag = try reader.readText(limit: Query.tagBytesMax)
            self = .file(view)
        case 29: self = .part(Array(try reader.readBytes(limit: FilePart.bytesMax)))
        case 31: self = .standing(try SignInStanding(from: &reader))
        case 32: self = .holders(try reader.readList())
        case 34: self = .blocks(try Blocks(from: &reader))
        case 35: self = .blockViews(try reader.readList())
        case 36: self = .acquaintance(try Acquaintance(from: &reader))
        case 37: self = .bytes(try reader.readVarint())
        case 38: self = .changes(try reader.readList(limit: ParticipantChanges.countMax))
        default: throw .unknown
        }
    }
}
