/// A module of `Sources/` and what it may import: a row of the table of the design.
///
/// Declared dependencies alone do not enforce it: SwiftPM notices an undeclared import only on a
/// clean build, and a wrongly declared one never.
struct Room: Equatable {
    enum Kind {
        /// Pure values, without access to the system.
        case core
        /// Pure decisions and the actors that run them, without access to the system either.
        case node
        /// A wrapper of one external dependency.
        case edge
        /// A program, which may ask the system for arguments, signals and an exit.
        case program
        /// A module map or a little C.
        case foreign
        /// A library for other programs, which has what their platforms have.
        case library
    }

    let name: String
    let kind: Kind
    let imports: Set<String>

    init(_ name: String, _ kind: Kind, _ imports: String = "") {
        self.name = name
        self.kind = kind
        self.imports = words(imports)
    }
}

struct House {
    let rooms: [Room]
    /// The modules that several test targets share; they lie beside them.
    let supports: [Room]
    /// The modules that a module's tests may import beyond the module and everything below it.
    let testsAlsoImport: [String: Set<String>]

    /// The modules of the standard library that a module's sources may import.
    var sourcesAlsoImport: [String: Set<String>] = [:]

    static let grapevine = House(
        rooms: [
            Room("Wire", .core, "CXXHash"),
            Room("CRDT", .core, "Wire"),
            Room("Chat", .core, "CRDT Wire"),
            Room("Membership", .core, "Wire"),
            Room("Placement", .core, "Wire"),
            Room("Replication", .core, "CRDT Wire"),
            // Replication: the header of a shard's replica.
            Room("StorePort", .core, "Chat CRDT Replication Wire"),
            Room("LineProtocol", .core, "Chat CRDT Crypto Wire"),
            Room("ChatClient", .core, "LineProtocol"),
            Room("Manual", .core),
            Room("HTTP", .core, "Wire"),
            Room("JSON", .core, "CSimdjson Wire"),
            Room("Crypto", .core, "COpenSSL CSodium Spelling"),
            Room("Compression", .core, "CZlib"),
            Room("Spelling", .core, "CIDN2 CUnistring"),

            Room("CCurl", .foreign),
            Room("CIDN2", .foreign),
            Room("CUnistring", .foreign),
            Room("CSimdjson", .foreign),
            Room("CSodium", .foreign),
            Room("CLibuv", .foreign),
            Room("CNcurses", .foreign),
            Room("COpenSSL", .foreign),
            Room("CSQLite", .foreign),
            Room("CXXHash", .foreign),
            Room("CZlib", .foreign),
            Room("CSystem", .foreign),
            Room("Web", .foreign),
            Room("GrapevineClient", .library, "CSQLite"),
            Room("NetworkIO", .edge, "CLibuv CSystem"),
            Room("TLS", .edge, "COpenSSL NetworkIO"),
            Room("HTTPClient", .edge, "CCurl NetworkIO"),
            Room("Storage", .edge, "CSQLite CSystem Chat CRDT Replication StorePort Wire"),

            Room("Node", .node, "Chat CRDT Membership Placement Replication StorePort Wire"),
            // Node and Replication, here and in Session: they define what a reply waits for.
            Room(
                "Admin", .node,
                "Node JSON LineProtocol Membership Replication StorePort Chat CRDT Wire"),
            Room("Session", .node, "Admin LineProtocol Node Replication Chat Wire"),
            Room(
                "Gateway", .node,
                """
                Session Admin Chat CRDT Compression Crypto HTTP JSON LineProtocol Node Spelling Web
                Wire
                """),

            Room(
                "Server", .program,
                """
                Wire CRDT Chat Membership Placement Replication LineProtocol
                NetworkIO TLS HTTPClient Storage StorePort CSystem Node Admin Session Gateway Crypto
                HTTP Manual
                """),
            Room(
                "Simulator", .node,
                """
                Wire CRDT Chat Membership Placement Replication StorePort LineProtocol Node Admin
                Session Gateway JSON
                """),
            // Wire, here and in Benchmarks: the names of conversations and messages.
            Room(
                "LineClient", .program,
                "ChatClient CNcurses LineProtocol Manual NetworkIO TLS Wire"),
            // Node and Membership: hostile frames are made of the same types as honest ones.
            // COpenSSL: a client that trusts any certificate belongs in no product.
            Room(
                "Benchmarks", .program,
                """
                LineClient LineProtocol NetworkIO Node Membership Placement Crypto CSystem COpenSSL
                Wire
                """),
            Room(
                "Fuzz", .program,
                """
                Server Node LineProtocol Membership Placement Replication StorePort Chat CRDT HTTP
                Wire NetworkIO
                """),
            Room(
                "grapevine", .program,
                "Server LineClient Manual Gateway Crypto LineProtocol NetworkIO TLS Wire"),
            Room("grapevine-sim", .program, "Simulator"),
            Room("grapevine-bench", .program, "Benchmarks"),
            Room("grapevine-fuzz", .program, "Fuzz"),
        ],
        supports: [
            Room("TestKit", .node, "Chat CRDT Foundation Wire Testing"),
            // Nodes and clients in memory.
            Room(
                "NodeKit", .node,
                """
                Session Admin Node LineProtocol Placement Replication StorePort Chat CRDT Wire
                Testing
                """),
        ],
        testsAlsoImport: [
            // Whole nodes in one process, on the real disk code.
            "Simulator": ["Storage"],
            // The tests measure texts by the library that draws them.
            "ChatClient": ["CNcurses"],
            // Vectors and tokens are written in base64url.
            "Crypto": ["Wire"],
            // A server with a certificate.
            "HTTPClient": ["TLS"],
        ],
        sourcesAlsoImport: [
            // Random bits come from a class that is Sendable: its state is an atomic.
            "Simulator": ["Synchronization"],
            // What phones have, too.
            "GrapevineClient": [
                "Dispatch", "Foundation", "FoundationNetworking", "Observation", "SQLite3",
            ],
        ])

    subscript(name: String) -> Room? {
        rooms.first { $0.name == name }
    }

    /// Returns everything that a module imports, directly or indirectly.
    func below(_ room: Room) -> Set<String> {
        var found: Set<String> = []
        var open = room.imports
        while let name = open.popFirst() {
            guard found.insert(name).inserted else { continue }
            open.formUnion(self[name]?.imports ?? [])
        }
        return found
    }

    /// Returns the modules that a source of this target may import; nil for an unknown target.
    func allowedImports(of place: Place) -> Set<String>? {
        switch place.tree {
        case .sources:
            guard let room = self[place.target] else { return nil }
            switch room.kind {
            case .core, .node, .foreign, .library:
                return room.imports.union(sourcesAlsoImport[place.target] ?? [])
            case .edge, .program: return room.imports.union(["Glibc"])
            }
        case .tests:
            let allowed: Set<String> = ["Testing", "Foundation", "Glibc"]
            if place.target == "TidyTests" { return allowed }
            if let support = supports.first(where: { $0.name == place.target }) {
                return support.imports
            }
            guard let tested = place.testedRoom, let room = self[tested] else { return nil }
            return allowed.union(below(room)).union([tested]).union(supports.map(\.name))
                .union(testsAlsoImport[tested] ?? [])
        }
    }
}

/// The place of a source: `Sources/Wire/Hash.swift` is in the target `Wire` of the tree of sources.
///
/// So is `Tests/Proof/Fuzz/Parser.swift` in the target `Fuzz`: the proof is no test of a module.
struct Place {
    enum Tree: String {
        case sources = "Sources"
        case tests = "Tests"
    }

    /// The folder of what proves the others, and is not shipped.
    static let proof = "Tests/Proof"

    let path: String
    let tree: Tree
    let target: String

    /// Fails for a path outside both trees, or of a file that lies in no target.
    init?(path: String) {
        let parts = path.split(separator: "/")
        let isProof = path.hasPrefix("\(Place.proof)/")
        guard parts.count >= (isProof ? 4 : 3), let tree = Tree(rawValue: String(parts[0]))
        else { return nil }
        self.path = path
        self.tree = isProof ? .sources : tree
        self.target = String(parts[isProof ? 2 : 1])
    }

    /// The name of the module that this target tests.
    var testedRoom: String? {
        guard tree == .tests, target.hasSuffix("Tests") else { return nil }
        return String(target.dropLast("Tests".count))
    }
}

func words(_ text: String) -> Set<String> {
    Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
}
