// swift-tools-version: 6.2
import PackageDescription

// Before the package: a global below it would be read before it has a value.
let portable: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .treatAllWarnings(as: .error),
]

let strict: [SwiftSetting] =
    portable + [
        // What the runtime would check on each access and hop, the build of the proof checks.
        .unsafeFlags(
            ["-enforce-exclusivity=unchecked", "-disable-dynamic-actor-isolation"],
            .when(configuration: .release, traits: ["Unchecked"]))
    ]

// A node would load a megabyte of libraries for regular expressions, which it does not use.
let lean: [SwiftSetting] = [
    .unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])
]

// Small values that all rooms use for every message: a release sees through their walls.
let transparent: [SwiftSetting] = [
    .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release))
]

// A release runs on machines without a toolchain, and a node takes less memory.
let selfContained: [LinkerSetting] = [
    .unsafeFlags(["-static-stdlib"], .when(configuration: .release))
]

// Tests, and clients that wait for nodes, take longer to compile than to run: in the build of the
// proof, what they test is optimized, and they are not.
let unoptimized: [SwiftSetting] = [
    .unsafeFlags(["-Onone"], .when(configuration: .release, traits: ["PlantedBugs"]))
]

let package = Package(
    name: "grapevine",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [.library(name: "GrapevineClient", targets: ["GrapevineClient"])],
    traits: [
        .trait(
            name: "PlantedBugs",
            description: "Compiles in the bugs that grapevine-sim --plant switches on."),
        .trait(
            name: "Unchecked",
            description: "Has a release leave out the runtime's checks of access and isolation."),
        .default(enabledTraits: ["Unchecked"]),
    ],
    targets: [
        // Cores: pure values. No I/O, no clock, no randomness, no task.
        core("Wire", ["CXXHash"]),
        core("CRDT", ["Wire"]),
        core("Chat", ["CRDT", "Wire"]),
        core("Membership", ["Wire"]),
        core("Placement", ["Wire"]),
        core("Replication", ["CRDT", "Wire"]),
        core("StorePort", ["Replication", "Chat", "CRDT", "Wire"]),
        core("LineProtocol", ["Chat", "CRDT", "Crypto", "Wire"]),
        core("ChatClient", ["LineProtocol"]),
        core("Manual", []),
        core("HTTP", ["Wire"]),
        core("JSON", ["CSimdjson", "Wire"]),
        core("Crypto", ["COpenSSL", "CSodium", "Spelling"]),
        core("Compression", ["CZlib"]),
        core("Spelling", ["CIDN2", "CUnistring"]),

        // Edges: each touches one foreign thing.
        library("CCurl", pkgConfig: "libcurl", package: "libcurl4-openssl-dev"),
        library("CIDN2", pkgConfig: "libidn2", package: "libidn2-dev"),
        library("CLibuv", pkgConfig: "libuv", package: "libuv1-dev"),
        library("CNcurses", pkgConfig: "ncursesw", package: "libncurses-dev"),
        library("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
        library("CSodium", pkgConfig: "libsodium", package: "libsodium-dev"),
        library("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        library("CUnistring", package: "libunistring-dev"),
        library("CXXHash", pkgConfig: "libxxhash", package: "libxxhash-dev"),
        library("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        compiledC("CSystem"),
        compiledC("CSimdjson", linking: ["simdjson", "stdc++"]),
        web("Web"),
        room("NetworkIO", ["CLibuv", "CSystem"]),
        room("TLS", ["COpenSSL", "NetworkIO"]),
        room("HTTPClient", ["CCurl", "NetworkIO"]),
        room(
            "Storage",
            ["CSQLite", "CSystem", "StorePort", "Replication", "Chat", "CRDT", "Wire"]),

        // The node: the actors that run the cores, and what answers lines with them.
        room(
            "Node",
            ["StorePort", "Membership", "Placement", "Replication", "Chat", "CRDT", "Wire"]),
        room(
            "Admin",
            [
                "Node", "JSON", "LineProtocol", "Membership", "StorePort", "Replication", "Chat",
                "CRDT", "Wire",
            ]),
        room("Session", ["Admin", "LineProtocol", "Node", "Replication", "Chat", "Wire"]),
        room(
            "Gateway",
            [
                "Session", "Admin", "Chat", "Compression", "CRDT", "Crypto", "HTTP", "JSON",
                "LineProtocol", "Node", "Spelling", "Web", "Wire",
            ]),

        // Programs: they only start things.
        room(
            "Server",
            [
                "Session", "Admin", "Node", "LineProtocol", "Membership", "Placement",
                "StorePort", "Replication", "Chat", "CRDT", "Wire", "NetworkIO", "TLS", "Storage",
                "CSystem", "Gateway", "HTTP", "HTTPClient", "Crypto", "Manual",
            ]),
        room(
            "LineClient",
            ["ChatClient", "CNcurses", "LineProtocol", "Manual", "NetworkIO", "TLS", "Wire"]),
        program(
            "grapevine",
            [
                "Server", "LineClient", "Manual", "Gateway", "Crypto", "LineProtocol", "NetworkIO",
                "TLS", "Wire",
            ], selfContained),

        // The library for phones. Apps depend on it, so it has no flag that a dependency may not
        // have, and what it imports is on every platform.
        .target(
            name: "GrapevineClient",
            dependencies: [.target(name: "CSQLite", condition: .when(platforms: [.linux]))],
            swiftSettings: portable),

        // The app of the library's first article.
        .executableTarget(
            name: "grapevine-example", dependencies: ["GrapevineClient"],
            path: "Tests/client/Example",
            swiftSettings: portable),

        // The app that grapevine-bench measures.
        .executableTarget(
            name: "grapevine-figures", dependencies: ["GrapevineClient"],
            path: "Tests/client/Figures",
            swiftSettings: portable),

        // The proof: what is not shipped, and what several tests share.
        proof(
            "Simulator",
            [
                "Gateway", "JSON", "Session", "Admin", "Node", "LineProtocol", "Membership",
                "Placement", "StorePort", "Replication", "Chat", "CRDT", "Wire",
            ]),
        proof(
            "Benchmarks",
            [
                "LineClient", "LineProtocol", "NetworkIO", "Node", "Membership", "Crypto", "Wire",
                "CSystem", "COpenSSL",
            ], unoptimized),
        proof(
            "Fuzz",
            [
                "Server", "Node", "LineProtocol", "Membership", "StorePort", "Replication", "Chat",
                "CRDT", "HTTP", "Wire", "NetworkIO",
            ], unoptimized),
        proofProgram("grapevine-sim", ["Simulator"]),
        proofProgram("grapevine-bench", ["Benchmarks"]),
        proofProgram("grapevine-fuzz", ["Fuzz"]),

        // Tests mirror the sources; TidyTests holds the house together.
        support("TestKit", ["Chat", "CRDT", "Wire"]),
        support(
            "NodeKit",
            [
                "Session", "Admin", "Node", "LineProtocol", "Placement", "StorePort", "Replication",
                "Chat", "CRDT", "Wire",
            ]),
        tests("TidyTests", []),
        tests("WireTests", ["TestKit", "Wire"]),
        tests("CRDTTests", ["TestKit", "CRDT", "Wire"], exclude: ["Golden"]),
        tests("ChatTests", ["TestKit", "Chat", "CRDT", "Wire"], exclude: ["Golden"]),
        tests("MembershipTests", ["TestKit", "Membership", "Wire"], exclude: ["Golden"]),
        tests("PlacementTests", ["TestKit", "Placement", "Wire"]),
        tests("ReplicationTests", ["TestKit", "Replication", "CRDT", "Wire"], exclude: ["Golden"]),
        tests(
            "NodeTests",
            [
                "TestKit", "Node", "Membership", "Placement", "StorePort", "Replication", "Chat",
                "CRDT", "Wire",
            ], exclude: ["Feeds/Golden", "Peers/Golden", "Requests/Golden"]),
        tests(
            "LineProtocolTests", ["TestKit", "LineProtocol", "Chat", "Wire"],
            exclude: ["Transcripts"]),
        tests(
            "ChatClientTests", ["ChatClient", "CNcurses", "LineProtocol"],
            exclude: ["Transcripts"]),
        tests("ManualTests", ["Manual"]),
        tests("GrapevineClientTests", ["TestKit", "GrapevineClient"]),
        tests(
            "GatewayTests",
            [
                "TestKit", "NodeKit", "Gateway", "Session", "Admin", "Chat", "CRDT", "Crypto",
                "HTTP", "JSON", "LineProtocol", "Node", "Placement", "Replication", "Wire",
            ], exclude: ["Corpus"]),
        tests("HTTPTests", ["TestKit", "HTTP", "Wire"]),
        tests("JSONTests", ["JSON"]),
        tests("SpellingTests", ["Spelling"]),
        tests("CryptoTests", ["Crypto", "Wire"]),
        tests("NetworkIOTests", ["NetworkIO", "CSystem"]),
        tests("TLSTests", ["TLS", "COpenSSL", "NetworkIO"]),
        tests("HTTPClientTests", ["HTTPClient", "CSystem", "NetworkIO", "TLS"]),
        tests(
            "LineClientTests",
            ["TestKit", "LineClient", "ChatClient", "LineProtocol", "Manual", "NetworkIO"]),
        tests("FuzzTests", ["Fuzz"], exclude: ["Corpus"]),
        tests("BenchmarksTests", ["Benchmarks", "LineClient", "LineProtocol", "NetworkIO"]),
        tests(
            "StorageTests",
            ["TestKit", "Storage", "CSQLite", "StorePort", "Replication", "Chat", "CRDT", "Wire"],
            exclude: ["Golden"]),
        tests(
            "SimulatorTests",
            [
                "TestKit", "Simulator", "Node", "LineProtocol", "Membership", "Placement",
                "Replication", "Chat", "CRDT", "Wire",
            ], exclude: ["Golden"]),
        tests(
            "SessionTests",
            [
                "NodeKit", "Session", "Admin", "Node", "LineProtocol", "Membership", "Placement",
                "StorePort", "Replication", "Chat", "CRDT", "Wire",
            ]),
        tests(
            "ServerTests",
            [
                "TestKit", "Server", "Gateway", "Session", "Node", "Crypto", "NetworkIO", "TLS",
                "Placement", "Replication", "Storage", "Wire", "Manual",
            ]),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

func core(_ name: String, _ imports: [String]) -> Target {
    .target(
        name: name, dependencies: dependencies(imports),
        swiftSettings: strict + lean + transparent)
}

func room(_ name: String, _ imports: [String]) -> Target {
    .target(name: name, dependencies: dependencies(imports), swiftSettings: strict + lean)
}

/// What a node does not ship with, and is proved by.
func proof(_ name: String, _ imports: [String], _ settings: [SwiftSetting] = []) -> Target {
    .target(
        name: name, dependencies: dependencies(imports), path: "Tests/Proof/\(name)",
        swiftSettings: strict + settings)
}

func proofProgram(_ name: String, _ imports: [String]) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies(imports), path: "Tests/Proof/\(name)",
        swiftSettings: strict + lean)
}

func library(_ name: String, pkgConfig: String? = nil, package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

func compiledC(_ name: String, linking libraries: [String] = []) -> Target {
    .target(
        name: name, cSettings: [.treatAllWarnings(as: .error)],
        cxxSettings: [.treatAllWarnings(as: .error)],
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

/// The files of the web pages, which `files.c` embeds.
func web(_ name: String) -> Target {
    .target(
        name: name, exclude: ["bundle", "chat", "client", "cluster", "deno.json"],
        cSettings: [.treatAllWarnings(as: .error)])
}

func program(
    _ name: String, _ imports: [String], _ linkerSettings: [LinkerSetting] = []
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies(imports), swiftSettings: strict + lean,
        linkerSettings: linkerSettings)
}

/// - Parameter exclude: folders of files that the tests read where they lie.
func tests(_ name: String, _ imports: [String], exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies(imports), exclude: exclude,
        swiftSettings: strict + unoptimized)
}

/// What several test targets share; it lives beside them.
func support(_ name: String, _ imports: [String]) -> Target {
    .target(
        name: name, dependencies: dependencies(imports), path: "Tests/\(name)",
        swiftSettings: strict + unoptimized)
}

func dependencies(_ names: [String]) -> [Target.Dependency] {
    names.map { .target(name: $0) }
}
