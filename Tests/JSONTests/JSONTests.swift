import JSON
import Testing

@Suite struct JSONTests {
    private func read(_ text: String) throws(JSONError) -> JSONValue {
        try JSONValue(reading: Array(text.utf8))
    }

    @Test func `every kind of value is read`() throws {
        let value = try read(#"{"a":[null,true,false,-7,0.5,"x\n\u00e9"],"b":{}}"#)
        #expect(
            value["a"]
                == .list([
                    .null, .flag(true), .flag(false), .integer(-7), .real(0.5), .text("x\né"),
                ])
        )
        #expect(value["b"] == .object([]) && value["c"] == nil)
    }

    @Test(arguments: [
        "", " ", "1", "\"a\"", "{", "{} {}", #"{"a":1,"a":2}"#, #"{"a":"\u0000"}"#, "[01]", "[1,]",
        "{'a':1}", "[NaN]", "[99999999999999999999]", "[\"\u{1}\"]", #"["\ud800"]"#, "\u{FEFF}{}",
    ])
    func `what other readers may read differently is refused`(_ text: String) {
        #expect(throws: JSONError.self) { try read(text) }
    }

    @Test func `broken UTF-8 is refused`() {
        #expect(throws: JSONError.self) {
            try JSONValue(reading: [0x5B, 0x22, 0xC3, 0x22, 0x5D])
        }
    }

    @Test func `a text may be nested so deep and no deeper`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        _ = try read(nested(JSONValue.depthMax))
        #expect(throws: JSONError.self) { try read(nested(JSONValue.depthMax + 1)) }
        #expect(throws: JSONError.self) { try read(nested(200_000)) }
        _ = try read(#"["[[[[[[[[[[[[[[[[[[[[[[\""]"#)
    }

    @Test func `what is written is read as the same value`() throws {
        let text = "q\" b\\ n\n r\r t\t u\u{1}\u{1F} é 👋🏽 \u{2028}"
        let value = JSONValue.object([
            .init("a", .list([.text(text), .integer(.min), .real(1.5), .null, .flag(false)])),
            .init(text, .object([.init("b", .list([]))])), .init("c", .object([])),
        ])
        var writer = JSONWriter()
        writer.write(value)
        #expect(try JSONValue(reading: writer.bytes) == value)
    }

    @Test func `commas stand between members and values`() {
        var writer = JSONWriter()
        writer.object {
            $0.pair("a", 1)
            $0.list("b") {
                $0.write("x")
                $0.object { $0.pair("c", true) }
                $0.write(2)
            }
            $0.pair("d", "e")
        }
        #expect(
            String(decoding: writer.bytes, as: UTF8.self)
                == #"{"a":1,"b":["x",{"c":true},2],"d":"e"}"#)
    }
}
