import Wire

/// The kinds of values that arguments and options have, each with its refusal.
extension Words {
    private static let nameRule = "is 1-64 of A-Z a-z 0-9 _ . : @ -"

    func name<Kind: Name>(_ index: Int, as _: Kind.Type = Kind.self) throws(LineError) -> Kind {
        let bytes = bytes(ofArgument: index)
        guard isName(bytes) else { throw refused("\(verb.label(of: index)) \(Self.nameRule)") }
        return Kind(checked: String(decoding: bytes, as: UTF8.self))
    }

    /// Names between commas: none is empty.
    func names<Kind: Name>(_ index: Int, as _: Kind.Type = Kind.self) throws(LineError) -> [Kind] {
        let bytes = bytes(ofArgument: index)
        var names: [Kind] = []
        var start = 0
        while start <= bytes.count {
            let end = firstIndex(of: UInt8(ascii: ","), in: bytes, from: start) ?? bytes.count
            let name = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            guard isName(name) else {
                throw refused("each of \(verb.label(of: index)) \(Self.nameRule)")
            }
            names.append(Kind(checked: String(decoding: name, as: UTF8.self)))
            start = end + 1
        }
        return names
    }

    func number(_ index: Int, atMost limit: Int = .max) throws(LineError) -> Int {
        guard let number = decimal(bytes(ofArgument: index)), number <= limit else {
            let bound = limit == .max ? "" : " up to \(limit)"
            throw refused("\(verb.label(of: index)) is a number\(bound)")
        }
        return number
    }

    /// A number that is no shard's is that of one not held here.
    func shard(_ index: Int) throws(LineError) -> ShardID {
        let bytes = bytes(ofArgument: index)
        guard !bytes.isEmpty, bytes.allSatisfy(isDigit) else {
            throw refused("\(verb.label(of: index)) is a number")
        }
        guard let number = decimal(bytes).flatMap(UInt16.init(exactly:)) else {
            throw .shardNotHeld
        }
        return ShardID(number)
    }

    func name<Kind: Name>(
        _ option: Option, as _: Kind.Type = Kind.self
    ) throws(LineError) -> Kind? {
        guard let value = try value(option) else { return nil }
        guard let name = Kind(value) else {
            throw refusedOption("\(option.name)= \(Self.nameRule)")
        }
        return name
    }

    func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ option: Option, of _: Choice.Type
    ) throws(LineError) -> Choice? {
        guard let value = try value(option) else { return nil }
        guard let choice = Choice(rawValue: value) else {
            throw refusedOption("\(option.name)= is one of \(choices(of: Choice.self))")
        }
        return choice
    }

    func number(_ option: Option, in range: ClosedRange<Int>) throws(LineError) -> Int? {
        guard let value = try value(option) else { return nil }
        let number = Array(value.utf8).withUnsafeBytes { decimal($0) }
        guard let number, range.contains(number) else {
            throw refusedOption(
                "\(option.name)= is a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// A title, name, address, photo or token: at most `LineLimits.fieldBytesMax` bytes.
    func field(_ option: Option) throws(LineError) -> String? {
        guard let value = try value(option) else { return nil }
        guard value.utf8.count <= LineLimits.fieldBytesMax else {
            throw LineError(
                413, "\(option.name)= too long: at most \(LineLimits.fieldBytesMax) bytes")
        }
        return value
    }
}

/// The number that these digits spell; nil for anything else, and beyond `Int`.
func decimal(_ digits: some Collection<UInt8>) -> Int? {
    guard !digits.isEmpty else { return nil }
    var number = 0
    for digit in digits {
        guard isDigit(digit) else { return nil }
        let (tens, high) = number.multipliedReportingOverflow(by: 10)
        let (sum, low) = tens.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
        guard !high, !low else { return nil }
        number = sum
    }
    return number
}

func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
}
