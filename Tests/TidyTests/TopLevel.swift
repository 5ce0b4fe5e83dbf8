// What may lie at the top of the repository: the list of design section 2 and the files that tools look for there.

enum TopLevel {
    static let allowed: Set<String> = [
        "Package.swift", "Sources", "Tests", "etc", "scripts",
        "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE",
        ".ci", ".gitignore", ".swift-format",
    ]

    static func strangers(among names: [String]) -> [String] {
        names.filter { !allowed.contains($0) }
    }
}
