import Wire

/// The findings of a query, in a box that hides their type.
public struct AnyFindings: Sendable {
    public private(set) var base: any Findings

    /// The approximate limit of one part of findings sent to another node, in bytes (256 KiB).
    public static let partBytesMax = 256 << 10

    public init(_ base: any Findings) { self.base = base }

    /// Returns the findings as a value of the given type; nil if they have another type.
    public func value<Value: Findings>(as _: Value.Type = Value.self) -> Value? {
        // Types are compared, since a cast of an empty list to a list of other elements succeeds.
        type(of: base) == Value.self ? base as? Value : nil
    }

    /// Splits the findings into parts; the parts appended in order give the findings again.
    public func split(bytesMax: Int = AnyFindings.partBytesMax) -> [AnyFindings] {
        base.parts(of: bytesMax)
    }

    /// Appends the next part to the findings.
    ///
    /// - Returns: false if the part has another type, and so is no result of the same query.
    public mutating func append(_ part: AnyFindings) -> Bool { base.append(any: part) }

    /// The findings of several shards or nodes merged into one list, sorted and without duplicates.
    public var gathered: AnyFindings { AnyFindings(base.gathered) }
    public var roughBytes: Int { base.roughBytes }
}

extension Findings {
    func parts(of bytesMax: Int) -> [AnyFindings] {
        split(bytesMax: bytesMax).map { AnyFindings($0) }
    }

    mutating func append(any part: AnyFindings) -> Bool {
        guard let part = part.value(as: Self.self) else { return false }
        return append(part)
    }

    func isEqual(to other: AnyFindings) -> Bool { other.value(as: Self.self) == self }
}

extension AnyFindings: Hashable {
    public static func == (left: AnyFindings, right: AnyFindings) -> Bool {
        left.base.isEqual(to: right)
    }

    public func hash(into hasher: inout Hasher) { base.hash(into: &hasher) }
}

extension AnyFindings: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(base.code)
        base.encodeContent(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let code = try reader.readByte()
        guard let type = QueryTable.findings[code] else { throw .unknown }
        base = try type.decode(code: code, from: &reader)
    }
}
