import Wire

/// The connections to members, at most one to each.
struct PeerConnections {
    /// In the order of names, which is the order in which a node deals with them.
    private(set) var ascending: [PeerConnection] = []
    private var byName: [NodeName: PeerConnection] = [:]
    private var byChannel: [UInt64: PeerConnection] = [:]

    var isEmpty: Bool { ascending.isEmpty }

    /// The names of the connected members, ascending.
    var names: [NodeName] { ascending.map(\.name) }

    subscript(name: NodeName) -> PeerConnection? { byName[name] }

    subscript(channel channel: UInt64) -> PeerConnection? { byChannel[channel] }

    /// Adds a connection in place of the one to the same member.
    mutating func insert(_ connection: PeerConnection) {
        if let old = byName[connection.name] { remove(old) }
        byName[connection.name] = connection
        byChannel[connection.channel.id] = connection
        let index = ascending.firstIndex { $0.name > connection.name } ?? ascending.endIndex
        ascending.insert(connection, at: index)
    }

    mutating func remove(_ connection: PeerConnection) {
        byName[connection.name] = nil
        byChannel[connection.channel.id] = nil
        ascending.removeAll { $0 === connection }
    }
}
