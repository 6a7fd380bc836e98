import CRDT
import Wire

/// The conversion of arguments and options to typed values, with an error for each invalid value.
extension ParsedLine {
    private static let nameRule = "is 1-64 of A-Z a-z 0-9 _ . : @ -"

    func name<Kind: Name>(_ index: Int, as _: Kind.Type = Kind.self) throws(LineError) -> Kind {
        let bytes = bytes(ofArgument: index)
        guard isName(bytes) else { throw refused("\(verb.label(of: index)) \(Self.nameRule)") }
        return Kind(checked: String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the name that is an optional argument; nil if the line lacks the argument.
    func optionalName<Kind: Name>(
        _ index: Int, as _: Kind.Type = Kind.self
    ) throws(LineError) -> Kind? {
        index < argumentCount ? try name(index) : nil
    }

    /// Returns the names of a list separated by commas; an empty name is refused.
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

    /// Returns the name that an argument specifies; nil for `*`, which means all.
    func nameOrAll<Kind: Name>(
        _ index: Int, as _: Kind.Type = Kind.self
    ) throws(LineError) -> Kind? {
        if bytes(ofArgument: index).elementsEqual([UInt8(ascii: "*")]) { return nil }
        return try name(index)
    }

    func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ index: Int, of _: Choice.Type
    ) throws(LineError) -> Choice {
        let word = String(decoding: bytes(ofArgument: index), as: UTF8.self)
        guard let choice = Choice(rawValue: word) else {
            throw refused("Not one of \(choices(of: Choice.self))")
        }
        return choice
    }

    /// Returns the session token that an argument contains, in the form that `TOKEN` prints.
    func token(_ index: Int) throws(LineError) -> Token {
        do throws(WireError) {
            return try Token(text: String(decoding: bytes(ofArgument: index), as: UTF8.self))
        } catch {
            throw .tokenBad
        }
    }

    /// Returns a node's address, host:port, of at most `LineLimits.addressBytesMax` bytes.
    func address(_ index: Int) throws(LineError) -> String {
        let bytes = bytes(ofArgument: index)
        guard isAddress(bytes) else {
            throw refused(
                "\(verb.label(of: index)) is host:port, at most "
                    + "\(LineLimits.addressBytesMax) bytes")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func number(_ index: Int, atMost limit: Int = .max) throws(LineError) -> Int {
        guard let number = decimal(bytes(ofArgument: index)), number <= limit else {
            let bound = limit == .max ? "" : " up to \(limit)"
            throw refused("\(verb.label(of: index)) is a number\(bound)")
        }
        return number
    }

    /// Returns a shard; a number above 65,535 is the error 404, like a shard that is not held here.
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

    /// Returns the number that an option specifies, which must be within the option's range.
    func number(_ option: Option) throws(LineError) -> Int? {
        try number(option, in: option.range ?? 0...Int.max)
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

    /// Returns the value of a text option: a title, a name, an address, a photo or a token.
    func field(
        _ option: Option, bytesMax: Int = LineLimits.fieldBytesMax
    ) throws(LineError) -> String? {
        guard let value = try value(option) else { return nil }
        guard value.utf8.count <= bytesMax else {
            throw LineError(413, "\(option.name)= too long: at most \(bytesMax) bytes")
        }
        return value
    }
}

/// Whether the text has the form of `127.0.0.1:7101`, `[::1]:7101` or `localhost:7101`.
private func isAddress(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= LineLimits.addressBytesMax,
        let colon = bytes.lastIndex(of: UInt8(ascii: ":")),
        let port = decimal(bytes[(colon + 1)...]), (1...65_535).contains(port)
    else { return false }
    let host = bytes[..<colon]
    guard host.first == UInt8(ascii: "[") else {
        return !host.isEmpty && host.allSatisfy(isHostByte)
    }
    let inner = host.dropFirst().dropLast()
    return host.last == UInt8(ascii: "]") && !inner.isEmpty
        && inner.allSatisfy { isHostByte($0) || $0 == UInt8(ascii: ":") }
}

/// Whether the byte may occur in an IP address or a host name.
private func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "."), UInt8(ascii: "-"): true
    default: isDigit(byte)
    }
}

/// Returns the number of these decimal digits; nil for other bytes and numbers above `Int.max`.
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
