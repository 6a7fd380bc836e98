import Membership
import Replication
import StorePort
import Wire

extension Node {
    /// Starts the node from the state on disk: the node continues as a member, founds a cluster, or
    /// waits until a node at a `--join` address reports its cluster.
    ///
    /// - Parameters:
    ///   - headers: the encoded replica header of each shard on disk.
    ///   - bases: the vector bases against which the headers are encoded, if readable.
    ///   - damaged: the shards whose headers on disk are corrupt.
    ///   - loss: a description of the acknowledged writes that the disk has lost; nil for none.
    package func start(
        settings: [String: [UInt8]], headers: [ShardID: [UInt8]],
        bases: [ShardID: [UInt8]] = [:], damaged: [ShardID] = [], loss: String? = nil
    ) {
        self.loss = loss
        do throws(WireError) {
            if let bytes = settings[SettingName.members] {
                let table = try MemberTable.decode(bytes)
                membership = Node.membership(
                    of: process, options, table: table, ports, now: ports.clock.milliseconds)
                storedMembers = table.present
            }
            loadPages(settings)
            try signing.load(settings, now: ports.clock.wallMilliseconds)
            noteLoss()
            if let bytes = settings[SettingName.cluster] {
                try loadCheckpoints(settings, held: Set(headers.keys), afterLoss: loss != nil)
                try resume(ClusterSettings.decode(bytes), headers, bases, damaged)
            } else if options.join.isEmpty {
                found()
            }
        } catch {
            ports.host.end(
                .unusable("the data folder holds what this version cannot read: \(error)"))
        }
        onTick()
    }

    private func resume(
        _ settings: ClusterSettings, _ headers: [ShardID: [UInt8]], _ bases: [ShardID: [UInt8]],
        _ damaged: [ShardID]
    ) throws(WireError) {
        guard accepts(settings) else { return }
        cluster = settings
        var stored: [ShardID: ReplicaHeader] = [:]
        var damaged = damaged
        for (shard, bytes) in headers.sorted(by: { $0.key < $1.key }) {
            stored[shard] = try ReplicaHeader.read(bytes, base: bases[shard])
            if stored[shard] == nil { damaged.append(shard) }
        }
        for shard in damaged { stored[shard] = ReplicaHeader(isComplete: false) }
        openShards(settings, stored: stored, isFounded: false)
        doubtShards()
        for shard in damaged { onBadHeader(of: shard) }
    }

    /// Founds a cluster.
    ///
    /// After a loss of acknowledged writes the node founds none, because it was in a cluster
    /// before.
    func found() {
        guard loss == nil else { return }
        let settings = settingsToFound
        guard settings.shards <= ClusterSettings.shardsMax else {
            return ports.host.end(.badOption(settings.tooManyShards))
        }
        ports.host.log(
            .info,
            "cluster founded cluster=\(settings.name) shards=\(settings.shards) "
                + "replicas=\(settings.replicas)")
        cluster = settings
        joinedAt = ports.clock.milliseconds
        keep(settings)
        openShards(settings, stored: [:], isFounded: true)
    }

    /// Joins the cluster that a member named in its hello.
    func adopt(_ settings: ClusterSettings) {
        guard accepts(settings) else { return }
        ports.host.log(
            .info,
            "cluster joined cluster=\(settings.name) shards=\(settings.shards) "
                + "replicas=\(settings.replicas)")
        cluster = settings
        joinedAt = ports.clock.milliseconds
        keep(settings)
        openShards(settings, stored: [:], isFounded: false)
    }

    /// Returns whether the options agree with the cluster's settings; ends the process if not.
    private func accepts(_ settings: ClusterSettings) -> Bool {
        if let name = options.cluster, name != settings.name {
            ports.host.end(
                .badOption("--cluster \(name): this cluster's name is \(settings.name)"))
            return false
        }
        if let shards = options.shards, shards != settings.shards {
            ports.host.end(
                .badOption("--shards \(shards): this cluster has \(settings.shards) shards"))
            return false
        }
        if let replicas = options.replicas, replicas != settings.replicas {
            ports.host.end(
                .badOption(
                    "--replicas \(replicas): this cluster keeps \(settings.replicas) copies"))
            return false
        }
        return true
    }

    private func openShards(
        _ settings: ClusterSettings, stored: [ShardID: ReplicaHeader], isFounded: Bool
    ) {
        held = Array(repeating: nil, count: Int(settings.shards))
        placeOwners()
        for number in 0..<settings.shards {
            let id = ShardID(number)
            guard isFounded || stored[id] != nil else { continue }
            open(id, stored: stored[id] ?? ReplicaHeader(isComplete: false), isFounded: isFounded)
        }
        keepMembers()
        placeShards()
    }

    private func keep(_ settings: ClusterSettings) {
        settingsToKeep.append(Setting(name: SettingName.cluster, value: settings.encoded))
    }
}
