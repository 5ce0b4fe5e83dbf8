// The statements of the documents about the sources, as far as a program can check them: names in code spans.

enum Documents {
    private static let checked: Set = [
        "README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md",
    ]
    private static let folders = ["Sources/", "Tests/", "etc/", "scripts/"]

    /// The first column of the table of modules, sorted.
    static func modules(in document: SourceFile) -> [String] {
        let rows = document.lines.drop { !$0.hasPrefix("| module |") }.dropFirst(2).prefix { $0.hasPrefix("| ") }
        return rows.compactMap { $0.split(separator: "|").first.map { $0.filter { $0 != " " } } }.sorted()
    }

    /// The code spans that are wrong: a path must lead to a file or folder, and a type's name must be a word of the
    /// sources or the name of a file.
    static func missing(in files: [SourceFile]) -> [Complaint] {
        let sources = files.filter { file in folders.contains { file.path.hasPrefix($0) } }
        var words: Set<Substring> = []
        for file in sources {
            words.formUnion(file.text.split { !$0.isLetter })
            words.formUnion(file.path.split { !$0.isLetter })
        }
        return files.filter { checked.contains($0.path) }.flatMap { file in
            Rules.complaints(file, file.lines) { line in
                let gone = codeSpans(of: line).filter { span in
                    isPath(span)
                        ? !sources.contains { $0.path == span || $0.path.hasPrefix(span + "/") }
                        : isTypeName(span) && !words.contains(span)
                }
                return gone.isEmpty ? nil : "not in the repository: \(gone.joined(separator: ", "))"
            }
        }
    }

    /// The recipes of CONTRIBUTING.md, each with the name of something that was made by it. The files with that name
    /// are the places to change for the next one.
    static let recipes = [
        ("A dialect", "ucloud"), ("A metric", "unsent_responses"), ("A listener", "StreamListener"),
        ("A rule term", "stale-negative"),
    ]

    /// Files and folders of a recipe, by its title.
    static func places(of recipe: String, in document: SourceFile) -> [Substring] {
        let lines = document.lines.drop { $0 != "**\(recipe)**" }.dropFirst().prefix {
            !$0.hasPrefix("**") && !$0.hasPrefix("#")
        }
        return lines.flatMap { codeSpans(of: $0) }.filter(isPath)
    }

    /// Files outside of Tests that contain the name of a recipe's sample, in any spelling, and are not in the recipe.
    /// Comments do not count.
    static func missingPlaces(of recipe: String, whichMade name: String, in files: [SourceFile]) -> [Complaint] {
        guard let document = files.first(where: { $0.path == "CONTRIBUTING.md" }) else { return [] }
        let (places, sought) = (places(of: recipe, in: document), plain(name[...]))
        let candidates = files.filter { file in
            ["Sources/", "etc/", "scripts/"].contains { file.path.hasPrefix($0) }
                && !places.contains { file.path == $0 || file.path.hasPrefix($0 + "/") }
        }
        return candidates.flatMap { file in
            Rules.complaints(file, file.lines) { line in
                let isComment = file.isSwift && line.drop { $0 == " " }.hasPrefix("//")
                guard !isComment, plain(line).contains(sought) else { return nil }
                return "\(recipe) (\(name)): CONTRIBUTING.md does not name this place"
            }
        }
    }

    /// The text in lower case without the signs that join words.
    private static func plain(_ text: Substring) -> String { text.lowercased().filter { $0 != "-" && $0 != "_" } }

    private static func codeSpans(of line: Substring) -> [Substring] {
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        return parts.indices.filter { !$0.isMultiple(of: 2) }.compactMap { parts[$0].split(separator: " ").first }
    }

    private static func isPath(_ span: Substring) -> Bool {
        folders.contains { span.hasPrefix($0) } && !span.contains { "*{[".contains($0) }
    }

    private static func isTypeName(_ span: Substring) -> Bool {
        span.first?.isUppercase == true && span.contains(where: \.isLowercase) && span.allSatisfy(\.isLetter)
    }
}
