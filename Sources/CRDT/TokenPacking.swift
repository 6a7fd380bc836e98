import Wire

extension Token {
    /// Creates a token of what was seen, as far as it fits.
    ///
    /// Each shard has several exact forms: all its entries, or a checkpoint and the entries beyond
    /// it. If the shards' smallest forms fit together, each shard gets the one that stays exact for
    /// longest for which there is space. A shard that does not fit gets the name of its whole
    /// vector; what is left goes to entries of these shards.
    ///
    /// - Parameters:
    ///   - seen: the vectors, ascending by shard, each shard once.
    ///   - progress: what replays have passed beyond `seen`, and what the replicas held that told
    ///     it, ascending by shard; in the space that `seen` leaves.
    ///   - first: the most important shards, in that order; the others follow by their number of
    ///     seqs. Where names are needed, a shard whose vector is no checkpoint comes first.
    ///   - checkpoints: the checkpoints that other nodes may be assumed to know too.
    ///   - clock: a time not earlier than anything that was seen.
    ///   - unsettled: the client's operations that may still be executed.
    ///   - sums: checksums of other data that the client was sent; left out if they would displace
    ///     a shard's name.
    ///   - textBytesMax: the greatest length of the text, in bytes.
    public init(
        of seen: [(shard: ShardID, vector: Vector)],
        progress: [(shard: ShardID, passed: Vector, target: Vector)] = [], first: [ShardID] = [],
        cluster: ClusterID, checkpoints: Checkpoints = Checkpoints(),
        clock: HybridTimestamp = .zero, unsettled: Unsettled = Unsettled(), sums: [UInt32] = [],
        textBytesMax: Int = Token.textBytesMax
    ) {
        let ranks = Dictionary(zip(first, 0...)) { one, _ in one }
        let forms = seen.filter { !$0.vector.isEmpty }.map { shard, vector in
            (
                rank: ranks[shard] ?? .max, count: vector.count,
                forms: TokenForms(of: vector, in: shard)
            )
        }.sorted {
            ($0.rank, $1.count, $0.forms.shard) < ($1.rank, $0.count, $1.forms.shard)
        }.map(\.forms)
        func pack(_ sums: Int) -> TokenPacking {
            var packing = TokenPacking(
                forms, checkpoints,
                within: Token.bodyBytes(ofText: textBytesMax) - unsettled.encoded.count
                    - Token.bytesMax(ofSums: sums))
            for (shard, passed, target) in progress {
                packing.addProgress(
                    TokenForms(of: passed, in: shard).plain,
                    in: TokenForms(of: target, in: shard).plain)
            }
            return packing
        }
        var sums = sums
        var packing = pack(sums.count)
        if packing.isRounded, !sums.isEmpty {
            sums = []
            packing = pack(0)
        }
        self.init(
            cluster: Token.hash(of: cluster),
            parts: packing.parts.sorted { $0.shard < $1.shard },
            names: packing.names.sorted { $0.shard < $1.shard },
            passed: packing.passed, targets: packing.targets, isRounded: packing.isRounded,
            clock: clock, unsettled: unsettled, sums: sums)
    }
}

/// The forms in which a token can state the vector of a shard exactly.
private struct TokenForms {
    /// The plain form, and one for each checkpoint that a history offers.
    static let countMax = 4

    let shard: ShardID
    let vector: Vector
    /// All entries of the vector, without a checkpoint.
    let plain: Token.Part

    init(of vector: Vector, in shard: ShardID) {
        self.shard = shard
        self.vector = vector
        plain = TokenForms.part(of: vector, in: shard)
    }

    /// Returns the forms, those that stay exact for longest first.
    ///
    /// The plain form needs nothing but the token; a form with a checkpoint needs a node that
    /// remembers it.
    func all(_ history: CheckpointHistory) -> [Token.Part] {
        let beyond = history.longestKept(within: vector).map { checkpoint in
            // All seqs of a replica id, nearly always one range from 1, take less space than those
            // beyond the checkpoint.
            var rest = history.rest(of: vector, beyond: checkpoint)
            for entry in rest.entries where vector.seqs(of: entry.replica).ranges.count == 1 {
                rest.insert(vector.seqs(of: entry.replica), of: entry.replica)
            }
            return TokenForms.part(of: rest, in: shard, beyond: checkpoint.id)
        }
        return ([plain] + beyond).filter(\.isWhole)
    }

    private static func part(
        of vector: Vector, in shard: ShardID, beyond checkpoint: CheckpointID? = nil
    ) -> Token.Part {
        let entries = entries(of: vector)
        return Token.Part(
            shard: shard, checkpoint: checkpoint?.short, entries: entries,
            isWhole: entries.count == vector.entries.count)
    }

    /// Returns an entry for each replica id whose prefix is unique in the vector.
    private static func entries(of vector: Vector) -> [Token.Entry] {
        let all = vector.entries
        return all.indices.compactMap { index in
            let prefix = all[index].replica.prefix
            // Entries ascend by replica id, so equal prefixes are neighbours.
            if index > 0, all[index - 1].replica.prefix == prefix { return nil }
            if index + 1 < all.count, all[index + 1].replica.prefix == prefix { return nil }
            return Token.Entry(prefix: prefix, seqs: all[index].seqs)
        }
    }
}

/// The contents of a token in the making, the most important shards first.
private struct TokenPacking {
    private(set) var parts: [Token.Part] = []
    private(set) var names: [Token.Name] = []
    private(set) var passed: [Token.Part] = []
    private(set) var targets: [Token.Part] = []
    private(set) var isRounded = false
    /// The bytes that are left for prefixes, parts and names.
    private var capacity: Int
    /// The prefixes of the entries in `parts`, which the token lists once.
    private var prefixes: Set<UInt32> = []
    /// The size of an entry's step to its prefix, in bytes.
    private let stepBytes: Int

    /// The number of prefixes up to which a step takes one byte.
    private static let prefixesOfByteSteps = 64

    /// - Parameter bytes: the space for prefixes, parts and names.
    init(_ all: [TokenForms], _ checkpoints: Checkpoints, within bytes: Int) {
        lazy var histories = all.map { checkpoints[$0.shard] }
        lazy var forms = zip(all, histories).map { $0.all($1) }
        let narrow = TokenPacking(all, forms, histories, within: bytes, stepBytes: 1)
        let isNarrow = narrow.prefixes.count <= TokenPacking.prefixesOfByteSteps
        self =
            isNarrow ? narrow : TokenPacking(all, forms, histories, within: bytes, stepBytes: 2)
    }

    private init(
        _ all: [TokenForms], _ forms: @autoclosure () -> [[Token.Part]],
        _ histories: @autoclosure () -> [CheckpointHistory], within bytes: Int, stepBytes: Int
    ) {
        self.stepBytes = stepBytes
        let last = all.map(\.shard.number).max() ?? 0
        capacity = bytes - TokenPacking.wideStepsMax(to: last)
        if addAll(all.map(\.plain)) { return }
        let forms = forms()
        var reserved = Token.Name.bytes * all.count
        var places: [(part: Int, forms: [Token.Part])] = []
        var unfit: [Token.Part] = []
        // A vector that is a checkpoint is told by its name for certain; one that is none comes
        // first where space is left for more.
        let isNew = zip(all, histories()).map { !$1.contains(CheckpointID(of: $0.vector)) }
        for index in all.indices.filter({ isNew[$0] }) + all.indices.filter({ !isNew[$0] }) {
            reserved -= Token.Name.bytes
            let smallest = forms[index].min { self.bytes(of: $0) < self.bytes(of: $1) }
            if let smallest, add(smallest, leaving: reserved) {
                places.append((parts.count - 1, forms[index]))
            } else if addName(of: all[index]) {
                unfit.append(smallest ?? all[index].plain)
            }
        }
        // All shards get the better of their two least forms before any gets the best of its forms.
        for count in 2...TokenForms.countMax {
            for (part, forms) in places { improve(part, forms.suffix(count)) }
        }
        for part in unfit { addEntries(of: part) }
    }

    /// Returns the most steps from one shard to the next that take two bytes instead of one, in the
    /// four lists of a token: the steps of a list add up to its last shard.
    private static func wideStepsMax(to last: UInt16) -> Int { 4 * Int(last >> 7) }

    /// Adds the parts if all of them fit and are whole.
    private mutating func addAll(_ parts: [Token.Part]) -> Bool {
        guard parts.allSatisfy(\.isWhole) else { return false }
        let before = self
        for part in parts where !add(part, leaving: 0) {
            self = before
            return false
        }
        return true
    }

    /// - Returns: whether the part fits.
    private mutating func add(_ part: Token.Part, leaving reserved: Int) -> Bool {
        let size = bytes(of: part)
        guard size + reserved <= capacity, spend(size, on: part) else { return false }
        parts.append(part)
        return true
    }

    private mutating func addName(of forms: TokenForms) -> Bool {
        guard Token.Name.bytes <= capacity else {
            isRounded = true
            return false
        }
        capacity -= Token.Name.bytes
        names.append(
            Token.Name(shard: forms.shard, short: CheckpointID(of: forms.vector).short))
        return true
    }

    /// Replaces a part by the first of its forms that fits in its place.
    private mutating func improve(_ index: Int, _ forms: ArraySlice<Token.Part>) {
        let used = sizeOfBody(of: parts[index])
        for form in forms where bytes(of: form) <= capacity + used {
            capacity += used - bytes(of: form)
            prefixes.formUnion(form.entries.lazy.map(\.prefix))
            parts[index] = form
            return
        }
    }

    /// Gives remaining space to what was passed of a shard within a target, which is whole or left
    /// out.
    mutating func addProgress(_ part: Token.Part, in target: Token.Part) {
        let before = self
        // A shard beyond those that were seen may need a wider step.
        let wide = part.shard.number > 127 ? 1 : 0
        guard target.isWhole, spend(bytes(of: target) + wide, on: target) else { return }
        guard let part = fitting(part), spend(bytes(of: part) + wide, on: part),
            stepBytes > 1 || prefixes.count <= TokenPacking.prefixesOfByteSteps
        else {
            self = before
            return
        }
        passed.append(part)
        targets.append(target)
    }

    /// - Returns: whether so many bytes are left for the part.
    private mutating func spend(_ bytes: Int, on part: Token.Part) -> Bool {
        guard bytes <= capacity else { return false }
        capacity -= bytes
        prefixes.formUnion(part.entries.lazy.map(\.prefix))
        return true
    }

    /// Gives remaining space to entries of a shard that has only a name.
    private mutating func addEntries(of part: Token.Part) {
        if let part = fitting(part) { _ = add(part, leaving: 0) }
    }

    /// Returns the part with the entries that fit, the longest sets first; nil where none does.
    private func fitting(_ part: Token.Part) -> Token.Part? {
        var kept: [Token.Entry] = []
        var left = capacity - sizeOfBody(of: part.keeping([])) - 1
        for entry in part.entries.sorted(by: { $1.seqs.count < $0.seqs.count }) {
            let prefixBytes = prefixes.contains(entry.prefix) ? 0 : Token.prefixBytes
            guard let entry = entry.fitting(left - prefixBytes - stepBytes) else { continue }
            left -= prefixBytes + stepBytes + entry.bytes
            kept.append(entry)
        }
        guard part.checkpoint != nil || !kept.isEmpty, left >= 0 else { return nil }
        return part.keeping(kept.sorted { $0.prefix < $1.prefix })
    }

    /// Returns the size that a part adds to the token, in bytes.
    private func bytes(of part: Token.Part) -> Int {
        let unlisted = part.entries.count { !prefixes.contains($0.prefix) }
        return sizeOfBody(of: part) + Token.prefixBytes * unlisted
    }

    /// Returns the size of an encoded part without prefixes, in bytes, after a step of one byte.
    private func sizeOfBody(of part: Token.Part) -> Int {
        1 + varintBytes(UInt64(part.entries.count) << 2)
            + (part.checkpoint == nil ? 0 : 4)
            + part.entries.reduce(0) { $0 + stepBytes + $1.bytes }
    }
}

extension Token.Part {
    /// Returns the part with only these entries.
    func keeping(_ entries: [Token.Entry]) -> Token.Part {
        Token.Part(shard: shard, checkpoint: checkpoint, entries: entries, isWhole: false)
    }
}

extension Token.Name {
    /// The size of an encoded name after a step of one byte, in bytes.
    static let bytes = 1 + 4
}

extension Token.Entry {
    /// Returns the entry, or one with its first range only; nil where neither fits.
    func fitting(_ capacity: Int) -> Token.Entry? {
        if bytes <= capacity { return self }
        guard let range = seqs.ranges.first else { return nil }
        let shorter = Token.Entry(prefix: prefix, seqs: SeqSet(range))
        return shorter.bytes <= capacity ? shorter : nil
    }
}
