import Manual
import Testing

/// What is made of a command's table: its help, the manual page and the scripts of shells.
@Suite struct CommandHelpTests {
    private let help = CommandHelp(
        "serve", "serves", synopsis: ["grapevine serve --level low|high", "[--folder <folder>]"],
        "Serves it.",
        [
            CommandHelp.Option(
                "--level", .words(["low", "high"]),
                "how well: the higher the better, as is known since long before there was any "
                    + "service of this kind at all"),
            CommandHelp.Option("--folder", .folder, "where it's kept [or not]"),
            CommandHelp.Option("--a-long-option-name", .none, "does nothing"),
        ], statuses: [(0, "it served"), (64, "it did not")])

    @Test func `the help has every option, in lines of at most 100 columns`() {
        #expect(
            help.usage == """
                usage: grapevine serve --level low|high
                       [--folder <folder>]

                Serves it.
                  --level         how well: the higher the better, as is known since long before \
                there was any
                                  service of this kind at all
                  --folder        where it's kept [or not]
                  --a-long-option-name  does nothing
                  exit status  0  it served
                              64  it did not

                """)
    }

    @Test func `no line of the manual page is a command of the formatter by accident`() {
        let odd = CommandHelp(
            "odd", "is odd", synopsis: ["grapevine odd"], "'Quoted' and \\ slashed.",
            notes: ".TH is no title")
        let page = ManualPage(of: [help, odd], version: "grapevine 1")
        #expect(page.text.contains("\\fB\\-\\-level\\fR \\fIlow|high\\fR"))
        #expect(page.text.contains("\n\\&'Quoted' and \\e slashed.\n"))
        #expect(page.text.contains("\n\\&.TH is no title\n"))
    }

    @Test(arguments: ShellCompletion.allCases)
    func `a script names every command and option`(shell: ShellCompletion) {
        let script = shell.script(for: [help], others: [("--version", "prints it")])
        for word in ["serve", "--version", "level", "folder", "a-long-option-name", "high"] {
            #expect(script.contains(word), "\(word)")
        }
    }
}
