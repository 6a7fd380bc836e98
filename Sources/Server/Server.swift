import CSystem
import Chat
import Glibc
import NetworkIO
import Node
import Storage
import TLS
import Wire

/// The exit statuses of the process, after sysexits.h.
package enum ExitStatus {
    package static let usage: Int32 = 64
    /// The data folder or the node's name cannot be used by this node.
    package static let data: Int32 = 65
    /// An address is in use.
    package static let unavailable: Int32 = 69
    /// The disk or the system failed.
    package static let failure: Int32 = 70
}

/// A node put together from its edges, which runs until it is told to stop.
package struct Server {
    package static let version = Node.version

    private let command: NodeCommand

    package init(_ command: NodeCommand) { self.command = command }

    /// Runs the node on the calling thread, which becomes the event loop's.
    ///
    /// - Returns: the process's exit status; errors were written to standard error.
    package func run() -> Int32 {
        // The files hold private messages: no other user may read them, whatever the folder that
        // they are in.
        umask(0o077)
        if !command.mayDumpCore { forbidCoreDumps() }
        _ = csystem_ignore_signals()
        _ = csystem_raise_descriptor_limit()
        csystem_return_large_memory(HostLimits.largeMemoryBytes)
        do throws(NetworkError) {
            let standardError = try LineWriter.standardError()
            let (status, sentence) = run(log: standardError)
            if let sentence { standardError.write("grapevine: \(sentence.printable)") }
            standardError.finish()
            return status
        } catch {
            writeLine("grapevine: \(error)", to: 2)
            return ExitStatus.failure
        }
    }

    /// - Returns: the exit status, and the error, if any.
    private func run(log standardError: LineWriter) -> (status: Int32, sentence: String?) {
        let keys: NodeKeys
        do throws(NodeKeys.Unusable) {
            keys = try NodeKeys(of: command)
        } catch {
            return (ExitStatus.usage, error.sentence)
        }
        do throws(NetworkError) {
            let loop = try EventLoop()
            let database: Database
            do throws(StorageError) {
                database = try Database(
                    folder: command.folder, reserve: Reserve(in: command.folder)
                ) { loop.post($0) }
            } catch {
                return (ExitStatus.of(error), "\(command.folder): \(error.sentence)")
            }
            defer { database.close() }
            return try serve(database, keys, on: loop, log: standardError)
        } catch {
            var status = ExitStatus.failure
            if case .addressInUse = error { status = ExitStatus.unavailable }
            return (status, "\(error)")
        }
    }

    private func serve(
        _ database: Database, _ keys: NodeKeys, on loop: EventLoop, log standardError: LineWriter
    ) throws(NetworkError) -> (status: Int32, sentence: String?) {
        let store = DiskStore(database, in: command.folder, on: loop)
        let host = try NodeHost(command, keys: keys, on: loop, log: standardError)
        let outcome = Lock<Result<Void, NetworkError>>(.success(()))
        let terminate = try SignalWatcher(SIGTERM, on: loop) { host.end(.shutdown) }
        // Also without a key: closing the terminal, or reloading every service, must not end a
        // node.
        let hangup = try SignalWatcher(SIGHUP, on: loop) { host.rereadKeys() }
        let interrupt = try SignalWatcher(SIGINT, on: loop) { host.end(.shutdown) }
        loop.post {
            host.assumeIsolated { $0.open(with: keys) }
            do throws(NetworkError) {
                try start(host, store, database, loop)
            } catch {
                outcome.withLock { $0 = .failure(error) }
                loop.stop()
            }
        }
        loop.run()
        withExtendedLifetime((terminate, interrupt, hangup)) {}
        try outcome.withLock { $0 }.get()
        return status(of: host.outcome.withLock { $0 })
    }

    /// Starts the node; runs on the loop's thread.
    private func start(
        _ host: NodeHost, _ store: DiskStore, _ database: Database, _ loop: EventLoop
    ) throws(NetworkError) {
        let ports = NodePorts(
            executor: loop, store: store, entropy: SystemEntropy(), clock: SystemClock(loop),
            host: host)
        let addresses = host.assumeIsolated { $0.advertised }
        let node = Node(
            NodeOptions(
                name: command.name, gossip: addresses.gossip, admin: addresses.admin,
                join: command.join, isBootstrapping: command.isBootstrapping,
                cluster: command.cluster, shards: command.shards, replicas: command.replicas,
                ackLevel: command.ackLevel, editWindowMilliseconds: command.editWindowMilliseconds,
                evictAfterMilliseconds: command.evictAfterMilliseconds,
                maxOffsetMilliseconds: command.maxOffsetMilliseconds, mayBlock: command.mayBlock,
                acceptsDataLoss: command.acceptsDataLoss, pages: command.pageAddresses),
            ports: ports)
        store.reportFailures(node)
        try host.assumeIsolated { $0.start(node) }.get()
        loop.onTurnEnd {
            host.assumeIsolated { $0.continueSessions() }
            node.assumeIsolated { $0.onTurnEnd() }
            host.assumeIsolated { $0.continueEnd() }
            database.reader.endTurn()
        }
        _ = Timer(on: loop, everyMilliseconds: EventLoop.resetCheckMilliseconds) {
            loop.closeResetConnections()
        }
        _ = Timer(on: loop, everyMilliseconds: Node.tickMilliseconds) {
            node.assumeIsolated { $0.onTick() }
            host.assumeIsolated {
                $0.watchUnauthenticated()
                $0.watchHTTP()
                $0.disconnectStalledClients()
                $0.logWithheld()
            }
        }
        load(node, from: database, host)
    }

    private func load(_ node: Node, from database: Database, _ host: NodeHost) {
        do throws(StorageError) {
            let settings = try database.reader.settings()
            var headers: [ShardID: [UInt8]] = [:]
            var damaged: [ShardID] = []
            for (shard, bytes) in try database.reader.headers() {
                if let bytes { headers[shard] = bytes } else { damaged.append(shard) }
            }
            let bases = try database.reader.bases()
            node.assumeIsolated { [headers, damaged, loss = database.loss] in
                $0.start(
                    settings: settings, headers: headers, bases: bases, damaged: damaged,
                    loss: loss)
            }
        } catch {
            host.end(.unusable("\(command.folder): \(error.sentence)"))
        }
    }

    private func status(of ending: Ending?) -> (status: Int32, sentence: String?) {
        switch ending {
        case .shutdown: (0, nil)
        case .badOption(let sentence): (ExitStatus.usage, sentence)
        case .unusable(let sentence): (ExitStatus.data, sentence)
        case .diskFailed(let sentence):
            (ExitStatus.failure, "\(command.folder): \(sentence)")
        case nil: (ExitStatus.failure, "the event loop ended by itself")
        }
    }
}

extension ExitStatus {
    static func of(_ error: StorageError) -> Int32 {
        switch error {
        case .folderInUse, .newerFormat, .foreignFile, .notFolder, .corrupt: data
        default: failure
        }
    }
}

extension StorageError {
    /// A description of the error with advice, for the person who started the node.
    var sentence: String {
        switch self {
        case .folderInUse:
            "another process is using this data folder; stop it, or give this node its own"
        case .newerFormat(let number):
            "written by a later version (format \(number)); run that version"
        case .foreignFile:
            "grapevine.sqlite in it was not written by grapevine; give this node another folder"
        case .notFolder: "not a folder; name one by --data"
        case .exists: "exists already; give another name"
        case .noFolder: "there is no such folder; make it first"
        case .corrupt(let doing):
            "grapevine.sqlite is damaged (\(doing)); wipe the folder and join again, the others "
                + "hold the data; a node without others needs a backup put back"
        case .badRecord(let shard, let key):
            "the record partition=\(key.partition) id=\(key.id) of shard \(shard) is damaged"
        case .badIndex(let shard): "what leads to the documents of shard \(shard) is damaged"
        case .io(let code, let doing):
            "the disk failed while \(doing) (code \(code)); look after the disk, then start again: "
                + "what was acknowledged is kept"
        case .displaced(let path):
            "\(path) is not the file that this node opened any more: it was removed, moved or "
                + "replaced, and nothing that is written to it would be found at a restart"
        case .locked: "another program has locked grapevine.sqlite; have it let go"
        case .readOnly: "cannot be read and written; check its permissions and the mount"
        case .full: "the disk is full; free some space, then start again"
        case .unfit(let what): "no room in the tables for \(what)"
        case .builtOnFailure, .closed: "used after it failed"
        case .refused(let code, let doing): "SQLite refused while \(doing) (code \(code))"
        }
    }
}
