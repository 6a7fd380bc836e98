import Glibc
import Simulator

do throws(Options.Misused) {
    let options = try Options(Array(CommandLine.arguments.dropFirst()))
    exit(await carryOut(options))
} catch {
    print("grapevine-sim: \(error.words)\n\(Options.usage)", terminator: "")
    exit(2)
}
