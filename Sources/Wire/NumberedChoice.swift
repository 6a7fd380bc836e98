/// A choice between a few cases, each of which has a number on disk and on the wire.
public protocol NumberedChoice: CaseIterable, WireValue {
    /// The number, which no later version gives to another case.
    var number: UInt8 { get }
    /// The name of the choice in an error, as in "not a priority".
    static var noun: String { get }
}

extension NumberedChoice {
    public func encode(into writer: inout ByteWriter) { writer.write(number) }

    public init(from reader: inout ByteReader) throws(WireError) {
        let number = try reader.readByte()
        guard let choice = Self.allCases.first(where: { $0.number == number }) else {
            throw .invalid(Self.noun)
        }
        self = choice
    }
}
