import Foundation
import Testing

/// What users see after what they do and what nodes answer, as `Tests/client/scenarios` says it:
/// the client of the browser performs the same scenarios.
@Suite struct ScenarioTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "client/scenarios")

    private static func read<Value: Decodable>(_ name: String) throws -> Value {
        try JSONDecoder().decode(
            Value.self, from: Data(contentsOf: folder.appending(path: name + ".json")))
    }

    /// The names of the files of scenarios.
    private static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".json") && $0 != "world.json" }
            .map { String($0.dropLast(".json".count)) }.sorted()
    }

    @Test(arguments: try names()) func `scenarios hold`(_ name: String) throws {
        let world: ScriptedJSON = try Self.read("world")
        let scenarios: [Scenario] = try Self.read(name)
        #expect(!scenarios.isEmpty)
        for scenario in scenarios {
            do {
                try ScenarioRun(world: world, scenario).perform()
            } catch {
                Issue.record("\(name): \(scenario.name): \(error)")
            }
        }
    }
}
