import Chat
import StorePort
import Wire

/// The content of one transaction: its records in their order, the last header of each shard, and
/// the settings.
struct WriteLogRow: WireValue {
    static let version: UInt8 = 1
    private static let shardsMax = 1 << 16
    private static let recordsMax = 1 << 24
    private static let settingsMax = 1 << 16

    var records: [FlushedRecord] = []
    var headers: [ShardID: HeaderRows] = [:]
    var settings: [String: [UInt8]] = [:]

    init(_ batches: [WriteBatch] = []) {
        records.reserveCapacity(batches.reduce(0) { $0 + $1.rowsCount })
        var last = LastHeaders()
        for batch in batches {
            for write in batch.shards {
                last.note(write)
                for record in write.records {
                    records.append(FlushedRecord(shard: write.shard, record: record))
                }
            }
            for setting in batch.settings { settings[setting.name] = setting.value }
        }
        headers = last.rows
    }

    func encode(into writer: inout ByteWriter) {
        writer.write(WriteLogRow.version)
        writer.write(count: records.count)
        for item in records {
            writer.write(item.shard)
            item.record.encode(into: &writer)
        }
        writer.write(count: headers.count)
        for (shard, rows) in headers.sorted(by: { $0.key < $1.key }) {
            writer.write(shard)
            writer.write(rows.header)
            writer.write(rows.base != nil)
            if let base = rows.base { writer.write(base) }
        }
        writer.write(count: settings.count)
        for (name, value) in settings.sorted(by: { $0.key < $1.key }) {
            writer.write(name)
            writer.write(value)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let version = try reader.readByte()
        guard version == WriteLogRow.version else { throw .version(version) }
        for _ in 0..<(try reader.readCount(limit: WriteLogRow.recordsMax)) {
            let shard = try reader.readShard()
            records.append(FlushedRecord(shard: shard, record: try Record(from: &reader)))
        }
        for _ in 0..<(try reader.readCount(limit: WriteLogRow.shardsMax)) {
            let shard = try reader.readShard()
            headers[shard] = HeaderRows(
                header: Array(try reader.readBytes()),
                base: try reader.readFlag() ? Array(try reader.readBytes()) : nil)
        }
        for _ in 0..<(try reader.readCount(limit: WriteLogRow.settingsMax)) {
            let name = try reader.readText(limit: nameBytesMax)
            settings[name] = Array(try reader.readBytes())
        }
    }
}
