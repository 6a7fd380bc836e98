import CRDT
import Chat
import Wire

/// The name of the counted runs of one conversation and level.
struct CountedRuns: Hashable {
    let kind: DocumentKey.Kind
    let partition: String
}

/// The reading statements for the index of counted runs.
///
/// The runs are rows of `document` with separate kinds, keyed by their start times, so that they
/// are logged, flushed and dropped as documents are.
struct CountedRunRows {
    private let first: Statement
    private let others: Statement

    init(_ connection: Connection) throws(StorageError) {
        func prepare(_ place: String) throws(StorageError) -> Statement {
            try Statement(
                connection,
                """
                SELECT \(StoredRow.columns) FROM document d
                WHERE shard = ?1 AND partition = ?2 AND kind = ?3 \(place)
                """, doing: "reading counted runs")
        }
        first = try prepare("AND time <= ?4 ORDER BY time DESC LIMIT 1")
        others = try prepare("AND time > ?4 AND time < ?5 ORDER BY time")
    }

    /// Passes `handing` the last row that starts at or before `start`, then the later rows that
    /// start before `end`.
    func read(
        _ runs: CountedRuns, in shard: ShardID, from start: HybridTimestamp,
        to end: HybridTimestamp, handing: (HybridTimestamp, [UInt8]) -> Void
    ) throws(StorageError) {
        for statement in end > start ? [first, others] : [first] {
            try statement.bind(Int64(shard.number), at: 1)
            try statement.bind(runs.partition, at: 2)
            try statement.bind(Int64(runs.kind.number), at: 3)
            try statement.bind(Int64(clamping: start.bits), at: 4)
            if statement === others { try statement.bind(Int64(clamping: end.bits), at: 5) }
            defer { statement.reset() }
            let row = StoredRow(statement, shard: shard)
            while try statement.step() {
                // A damaged row is ignored, since the runs are only an index.
                guard let bytes = row.bytes else { continue }
                handing(HybridTimestamp(bits: UInt64(bitPattern: row.time)), bytes)
            }
        }
    }
}

extension Reader {
    /// Returns the counted runs of a level that overlap a span of time, ascending, and the last run
    /// that starts at or before `start`.
    ///
    /// Runs in the write log that start earlier are returned too; the caller filters them.
    package func countedRuns(
        of conversation: ConversationID, in shard: ShardID, level: UInt8,
        from start: HybridTimestamp, to end: HybridTimestamp
    ) throws(StorageError) -> [CountedRun] {
        try checkOpen()
        let runs = CountedRuns(kind: .countedRun(level), partition: conversation.text)
        var rows: [HybridTimestamp: [UInt8]] = [:]
        let unflushed = overlay.layers(of: shard)?.runs(runs) ?? [:]
        try countedRuns.read(runs, in: shard, from: start, to: end) { rows[$0] = $1 }
        for (time, bytes) in unflushed where time < end || start >= end { rows[time] = bytes }
        var found: [CountedRun] = []
        for (time, bytes) in rows {
            // A run that cannot be decoded is ignored.
            if let run = CountedRun(decoding: bytes), run.start == time { found.append(run) }
        }
        return found.sorted { $0.start < $1.start }
    }
}

extension CountedRun {
    /// Decodes a run; returns nil if the bytes are not a run.
    init?(decoding bytes: [UInt8]) {
        do throws(WireError) {
            self = try CountedRun.decode(bytes)
        } catch {
            return nil
        }
    }
}

extension OverlayLayers {
    /// Returns the rows of the counted runs `runs` in the write log, by their start times.
    func runs(_ runs: CountedRuns) -> [HybridTimestamp: [UInt8]] {
        var found: [HybridTimestamp: [UInt8]] = [:]
        for layer in layers {
            if let rows = layer.runs[runs] { found.merge(rows) { newer, _ in newer } }
        }
        return found
    }
}

extension Record {
    /// Creates a row of the index of counted runs.
    package convenience init(_ run: CountedRun, of conversation: ConversationID, level: UInt8) {
        self.init(
            key: DocumentKey(
                checked: .countedRun(level), partition: conversation.text,
                id: hexadecimal(run.start.bits)),
            changedBy: Context(), time: run.start, bytes: run.encoded, previous: nil,
            purges: false)
    }
}
