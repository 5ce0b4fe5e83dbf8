// The house rules over the whole repository. Reviews check the rest.

import TestSupport
import Testing

struct TidyTests {
    private let repository: Repository
    /// The repository is read once, not once for each rule.
    private static let reading = Result { try Repository() }

    init() throws {
        repository = try TidyTests.reading.get()
    }

    private func expectNone(_ rule: (SourceFile) -> [Complaint]) {
        for complaint in repository.files.flatMap(rule) { Issue.record("\(complaint)") }
    }

    @Test("the walk finds the repository")
    func walk() {
        let paths = Set(repository.files.map(\.path))
        #expect(
            paths.isSuperset(of: [
                "Package.swift", "Sources/DNSWire/Records/Name.swift", "scripts/test", ".swift-format",
            ]))
        #expect(!paths.contains { $0.hasPrefix(".git/") || $0.hasPrefix(".build") })
    }

    @Test("files have at most 700 lines")
    func fileLength() { expectNone(Rules.fileLength) }

    @Test("functions have at most 60 lines")
    func functionLength() { expectNone(Rules.functionLength) }

    @Test("lines have at most 120 columns")
    func lineLength() { expectNone(Rules.lineLength) }

    @Test("a file opens with one to five lines that say what it is for")
    func head() { expectNone(Rules.head) }

    @Test("files end with a newline")
    func lastNewline() { expectNone(Rules.lastNewline) }

    @Test("classes of the daemon with deadlines are parts of the loop")
    func timedParts() { expectNone(Rules.timedParts) }

    @Test("each part with a deadline is in its owner's list of them")
    func unlistedParts() {
        for complaint in Rules.unlistedParts(in: repository.files) { Issue.record("\(complaint)") }
    }

    @Test("a documentation comment names what it describes")
    func fragments() { expectNone(Rules.fragments) }

    @Test("classes of the daemon write log events to the outbox")
    func outbox() { expectNone(Rules.outbox) }

    @Test("file and type names say what their job is")
    func names() {
        expectNone(Rules.fileName)
        expectNone(Rules.typeNames)
    }

    @Test("a folder of Resolver uses only the folders below it")
    func layers() {
        let files = repository.files.filter { $0.isSwift && $0.module == "Resolver" }
        for complaint in Layers(files).arrowsUp(Layers.resolver) { Issue.record("\(complaint)") }
    }

    @Test("no circle of files that need each other grows")
    func circles() {
        let modules = Dictionary(grouping: repository.files.filter(\.isSwift), by: \.module)
        for (module, files) in modules.sorted(by: { $0.key ?? "" < $1.key ?? "" }) {
            guard let module else { continue }
            let circle = Layers(files).largestCircle()
            print("largest circle of files in \(module): \(circle.count) of \(files.count)")
            let known = Layers.largestCircles[module, default: 0]
            if circle.count != known { Issue.record("\(module): \(circle.count) and not \(known): \(circle)") }
        }
    }

    @Test("nothing is put off in a comment")
    func promises() { expectNone(Rules.promises) }

    @Test("nobody, somebody, whoever and whom become no more: sentences name the actor")
    func vagueWords() {
        let found = Rules.vagueWordsRise(in: repository.files)
        guard !found.isEmpty else { return }
        let list = found.map { "\n\($0)" }.joined()
        Issue.record("\(found.count) uses, at most \(Rules.maxVagueWords):\(list)")
    }

    @Test("no file knows the folders of one machine")
    func machinePaths() { expectNone(Rules.machinePaths) }

    @Test("nothing stops the process by force")
    func traps() {
        expectNone(Rules.traps)
        expectNone(Rules.forceUnwraps)
    }

    @Test("nothing is visible outside of the package")
    func accessLevels() { expectNone(Rules.accessLevels) }

    @Test("promises that the compiler cannot check are on the list, with their proof, and the list is no longer")
    func uncheckedPromises() {
        expectNone(Rules.uncheckedPromises)
        #expect(Set(repository.files.filter(Rules.makesUncheckedPromise).map(\.path)) == Rules.uncheckedFiles)
    }

    @Test("every import is an arrow of the picture")
    func imports() { expectNone(Arrows.imports) }

    @Test("Package.swift has the arrows of the picture")
    func manifest() throws {
        let manifest = try #require(repository.files.first { $0.path == "Package.swift" })
        for complaint in Arrows.manifest(manifest) { Issue.record("\(complaint)") }
    }

    @Test("every folder of Sources with Swift in it is in the picture")
    func modules() {
        let modules = Set(repository.files.filter(\.isSwift).compactMap(\.module))
        #expect(modules == Set(Arrows.allowed.keys))
    }

    @Test("ARCHITECTURE.md's table of modules has each module once")
    func moduleTable() throws {
        let document = try #require(repository.files.first { $0.path == "ARCHITECTURE.md" })
        let programs: Set = ["httpdnsd", "httpdnsctl", "httpdns-lab"]
        #expect(Documents.modules(in: document) == Set(Arrows.allowed.keys).subtracting(programs).sorted())
    }

    @Test("types, folders and files that the documents name are there")
    func documents() {
        for complaint in Documents.missing(in: repository.files) { Issue.record("\(complaint)") }
    }

    @Test("a recipe names each place that something made by it needs", arguments: Documents.recipes)
    func recipes(_ recipe: String, _ name: String) throws {
        let document = try #require(repository.files.first { $0.path == "CONTRIBUTING.md" })
        #expect(!Documents.places(of: recipe, in: document).isEmpty)
        for complaint in Documents.missingPlaces(of: recipe, whichMade: name, in: repository.files) {
            Issue.record("\(complaint)")
        }
    }

    @Test("the top level has nothing but what belongs there")
    func topLevel() {
        #expect(TopLevel.strangers(among: repository.topLevel).isEmpty)
    }
}
