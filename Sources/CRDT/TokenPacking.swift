import Wire

extension Token {
    /// Creates a token of the changes that were seen, as far as they fit.
    ///
    /// Each shard has several exact forms: all its entries, or a checkpoint and the entries beyond
    /// it. If the smallest forms of all shards fit together, each shard gets the form that stays
    /// exact for longest and still fits. A shard that does not fit gets the name of its whole
    /// vector, and the remaining space is filled with entries of such shards.
    ///
    /// - Parameters:
    ///   - seen: the vectors that were seen, ascending by shard; each shard occurs once.
    ///   - progress: the changes beyond `seen` that replays have sent, and all changes that the
    ///     replaying replicas had, ascending by shard; they are added if `seen` leaves space.
    ///   - first: the most important shards, in that order; the other shards follow by their number
    ///     of seqs. If names are needed, shards whose vectors are not checkpoints come first.
    ///   - checkpoints: the checkpoints that other nodes may be assumed to know too.
    ///   - clock: a time no earlier than any change that was seen.
    ///   - unsettled: the client's operations that may still be executed.
    ///   - sums: checksums of other data that the client was sent; omitted if they displace a
    ///     shard's name.
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
    /// The greatest number of forms: the plain form, and one for each of at most three checkpoints.
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

    /// Returns the forms, beginning with the form that stays exact for longest.
    ///
    /// The plain form is complete without other data; a form with a checkpoint needs a node that
    /// stores that checkpoint.
    func all(_ history: CheckpointHistory) -> [Token.Part] {
        let beyond = history.longestKept(within: vector).map { checkpoint in
            // The whole set of a replica id's seqs, nearly always one range from 1, takes less
            // space than only the seqs beyond the checkpoint.
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

/// The contents of a token that is being built, beginning with the most important shards.
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
        // For a vector that is a checkpoint, the name alone is exact; so shards with other vectors
        // come first when the space is assigned.
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
        // Every shard gets the better of its last two forms before any shard gets a better one.
        for count in 2...TokenForms.countMax {
            for (part, forms) in places { improve(part, forms.suffix(count)) }
        }
        for part in unfit { addEntries(of: part) }
    }

    /// Returns an upper bound of the number of two-byte steps between shards in a token's four
    /// lists: the steps of a list add up to its last shard number.
    private static func wideStepsMax(to last: UInt16) -> Int { 4 * Int(last >> 7) }

    /// Adds all parts if they fit and are whole; otherwise adds none.
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

    /// Adds the changes that a replay of a shard has sent, if space remains, with the target, which
    /// is either whole or omitted.
    mutating func addProgress(_ part: Token.Part, in target: Token.Part) {
        let before = self
        // A shard of which no changes were seen may need a wider step.
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

    /// - Returns: whether `bytes` bytes are left for the part.
    private mutating func spend(_ bytes: Int, on part: Token.Part) -> Bool {
        guard bytes <= capacity else { return false }
        capacity -= bytes
        prefixes.formUnion(part.entries.lazy.map(\.prefix))
        return true
    }

    /// Fills remaining space with entries of a shard that has only a name.
    private mutating func addEntries(of part: Token.Part) {
        if let part = fitting(part) { _ = add(part, leaving: 0) }
    }

    /// Returns the part with the entries that fit, those with most seqs first; nil if none fits.
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

    /// Returns the size in bytes of an encoded part without prefixes, with a shard step of one
    /// byte.
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
    /// The size in bytes of an encoded name, including a shard step of one byte.
    static let bytes = 1 + 4
}

extension Token.Entry {
    /// Returns the entry, or an entry with only its first range; nil if neither fits.
    func fitting(_ capacity: Int) -> Token.Entry? {
        if bytes <= capacity { return self }
        guard let range = seqs.ranges.first else { return nil }
        let shorter = Token.Entry(prefix: prefix, seqs: SeqSet(range))
        return shorter.bytes <= capacity ? shorter : nil
    }
}
