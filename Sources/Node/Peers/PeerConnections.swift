import Wire

/// The connections to members, at most one for each member.
struct PeerConnections {
    /// The connections in the order of names, in which a node processes them.
    private(set) var ascending: [PeerConnection] = []
    private var byName: [NodeName: PeerConnection] = [:]
    private var byChannel: [UInt64: PeerConnection] = [:]

    var isEmpty: Bool { ascending.isEmpty }

    /// The names of the connected members, ascending.
    var names: [NodeName] { ascending.map(\.name) }

    subscript(name: NodeName) -> PeerConnection? { byName[name] }

    subscript(channel channel: UInt64) -> PeerConnection? { byChannel[channel] }

    /// Adds a connection, and removes an earlier connection to the same member.
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
