// The allowed uses between the folders of Resolver, and the files of a module that need each other in a circle. A file
// uses another one if it contains the name of a type that the other one declares at its top level: a heuristic without
// the compiler.

struct Layers {
    /// The folders of Resolver, lowest first. Each may use only itself and those before it.
    static let resolver = ["Base", "Names", "Upstreams", "Verification", "Networks", "Prefetch", "Lookup", "Engine"]

    /// The largest circle of files in each module that has one. A figure may only fall: a change that makes a circle
    /// smaller writes the new figure here.
    static let largestCircles = [
        "DNSWire": 2, "Daemon": 3, "HTTPClient": 2, "HTTPDNS": 2, "LinuxIO": 2, "Resolver": 3, "Serving": 2,
        "Upstreams": 3, "httpdns-lab": 2, "NFTSetHelper": 2,
    ]

    /// The files of one module by path, with the paths of the files that each uses and the names by which it does.
    private let uses: [String: [String: Set<Substring>]]

    /// - Parameter files: the files of one module.
    init(_ files: [SourceFile]) {
        let words = files.map { TypeWords($0) }
        var declaring: [Substring: [String]] = [:]
        for (file, words) in zip(files, words) {
            for name in words.declared { declaring[name, default: []].append(file.path) }
        }
        uses = Dictionary(
            uniqueKeysWithValues: zip(files, words).map { file, words in
                var found: [String: Set<Substring>] = [:]
                for name in words.used.subtracting(words.nested) {
                    for path in declaring[name] ?? [] where path != file.path { found[path, default: []].insert(name) }
                }
                return (file.path, found)
            })
    }

    /// The uses of a higher folder.
    func arrowsUp(_ layers: [String]) -> [Complaint] {
        uses.keys.sorted().flatMap { path -> [Complaint] in
            guard let own = Layers.rank(of: path, layers) else {
                return [Complaint(path: path, line: 1, what: "is in none of the folders \(layers)")]
            }
            return (uses[path] ?? [:]).sorted { $0.key < $1.key }.compactMap { other, names in
                guard let rank = Layers.rank(of: other, layers), rank > own else { return nil }
                return Complaint(
                    path: path, line: 1, what: "uses \(names.sorted().joined(separator: ", ")) of \(other)")
            }
        }
    }

    private static func rank(of path: String, _ layers: [String]) -> Int? {
        let parts = path.split(separator: "/")
        return parts.count > 3 ? layers.firstIndex(of: String(parts[2])) : nil
    }

    /// The files of the largest circle, sorted; empty if there is none.
    func largestCircle() -> [String] {
        var largest: [String] = []
        var reachable: [String: Set<String>] = [:]
        for path in uses.keys { reachable[path] = reached(from: path) }
        for (path, others) in reachable where others.contains(path) {
            let circle = others.filter { reachable[$0]?.contains(path) == true }
            if circle.count > largest.count { largest = circle.sorted() }
        }
        return largest
    }

    private func reached(from path: String) -> Set<String> {
        var reached: Set<String> = []
        var next = [path]
        while let current = next.popLast() {
            for other in (uses[current] ?? [:]).keys where reached.insert(other).inserted { next.append(other) }
        }
        return reached
    }
}

/// The names of types in a Swift file.
private struct TypeWords {
    /// The types declared at the top level.
    var declared: Set<Substring> = []
    /// The types declared inside other types. In this file their names mean these types.
    var nested: Set<Substring> = []
    var used: Set<Substring> = []

    private static let keywords: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "actor"]

    init(_ file: SourceFile) {
        for line in file.codeLines {
            let words = SwiftCode.words(line).map(\.word)
            for word in words where word.first?.isUppercase == true { used.insert(word) }
            guard let keyword = words.firstIndex(where: TypeWords.keywords.contains), keyword + 1 < words.count else {
                continue
            }
            let name = words[keyword + 1]
            guard name.first?.isUppercase == true else { continue }
            if line.first == " " { nested.insert(name) } else { declared.insert(name) }
        }
    }
}
