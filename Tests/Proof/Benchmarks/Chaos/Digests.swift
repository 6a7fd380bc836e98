import LineClient
import LineProtocol

/// The `DIGEST` lines of several nodes, which need not hold the same shards.
struct Digests: Sendable {
    /// By shard, the number of entities and the hash that the first holder printed.
    private var lines: [String: [String?]] = [:]
    private(set) var isCaughtUp = true

    /// Adds a node's reply to `DIGEST`; a refusal counts as a difference.
    mutating func add(_ reply: LineReply) {
        if !reply.isOK { isCaughtUp = false }
        for fields in reply.data("DIGEST") {
            let line = [fields["entities"], fields["hash"]]
            if lines.updateValue(line, forKey: fields["shard"] ?? "") ?? line != line {
                isCaughtUp = false
            }
        }
    }
}

/// The `SHARDS` lines of several nodes: whether exactly the owners of each shard hold it.
struct Placements: Sendable {
    /// By shard, its owners as the first node stated them.
    private var owners: [String: [String]] = [:]
    private var holders: [String: Set<String>] = [:]
    /// The first contradiction found, as a sentence.
    private var conflict: String?

    /// Adds a node's reply to `SHARDS`.
    mutating func add(_ reply: LineReply, of node: String) {
        if !reply.isOK { conflict = conflict ?? "\(node) answers SHARDS with \(reply.statusText)" }
        for fields in reply.data("SHARD") {
            let (id, owners) = (fields["id"] ?? "", fields.set("owners"))
            let known = self.owners.updateValue(owners, forKey: id) ?? owners
            if known != owners {
                conflict =
                    conflict
                    ?? "shard \(id) belongs to \(known.joined(separator: ",")), "
                    + "for \(node) to \(owners.joined(separator: ","))"
            }
            guard fields.isTrue("here") else { continue }
            holders[id, default: []].insert(node)
            if fields["state"] != "ready" {
                conflict = conflict ?? "\(node) has shard \(id) as \(fields["state"] ?? "none")"
            }
        }
    }

    /// Describes the first shard that is not ready on exactly its owners; nil if there is none.
    var finding: String? {
        if let conflict { return conflict }
        if owners.isEmpty { return "there are no shards" }
        for id in owners.keys.sorted() where Set(owners[id] ?? []) != holders[id] ?? [] {
            let (owners, holders) = (owners[id] ?? [], holders[id] ?? [])
            return "shard \(id) belongs to \(owners.joined(separator: ",")) and is held by "
                + holders.sorted().joined(separator: ",")
        }
        return nil
    }
}
