import Fuzz
import Glibc

/// The parser under test, named by `GRAPEVINE_FUZZ`.
private let parser: Parser = {
    let variable: UnsafeMutablePointer<CChar>? = getenv("GRAPEVINE_FUZZ")
    let name = variable.map { String(cString: $0) } ?? ""
    guard let parser = Parser(rawValue: name) else {
        let names = Parser.allCases.map(\.rawValue).joined(separator: ", ")
        print("grapevine-fuzz: GRAPEVINE_FUZZ is '\(name)' and none of \(names)")
        exit(64)
    }
    return parser
}()

/// The entry point that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    parser.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

#if !FUZZING
    /// The command without libFuzzer: it checks the files given as arguments, one after another;
    /// with `--requests`, it prints the HTTP requests in each line of hexadecimal digits that it
    /// reads, and an empty line behind them.
    @main
    enum Fuzzer {
        static func main() {
            guard CommandLine.arguments.dropFirst() != ["--requests"] else { return dumpRequests() }
            for path in CommandLine.arguments.dropFirst() {
                guard let file = fopen(path, "re") else {
                    perror("grapevine-fuzz: \(path)")
                    exit(66)
                }
                var input = [UInt8](repeating: 0, count: Parser.inputBytesMax)
                let count = fread(&input, 1, input.count, file)
                fclose(file)
                parser.check(Array(input[..<count]))
            }
        }

        private static func dumpRequests() {
            while let line = readLine() {
                let digits = line.compactMap(\.hexDigitValue)
                let input = stride(from: 0, to: digits.count - 1, by: 2).map { index in
                    UInt8(digits[index] << 4 | digits[index + 1])
                }
                for line in RequestDump.lines(for: input) { print(line) }
                print()
            }
        }
    }
#endif
