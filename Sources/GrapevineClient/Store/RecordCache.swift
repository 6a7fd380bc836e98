/// The records that were last read or stored, by their keys, so that they are not decoded again.
struct RecordCache<Record> {
    /// The most records that are kept; then all are dropped.
    static var countMax: Int { 1_024 }

    private var records: [String: Record] = [:]

    subscript(key: String) -> Record? {
        get { records[key] }
        set {
            if newValue != nil, records.count >= Self.countMax { records = [:] }
            records[key] = newValue
        }
    }

    /// Returns a record, which is read where it is not kept.
    mutating func value(
        of key: String, read: () throws(StoreError) -> Record?
    ) throws(StoreError) -> Record? {
        if let known = self[key] { return known }
        let found = try read()
        self[key] = found
        return found
    }
}
