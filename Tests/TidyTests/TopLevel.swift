// The files allowed at the top of the repository: those of the design, and those that tools expect there.

enum TopLevel {
    static let allowed: Set<String> = [
        "Package.swift", "Sources", "Tests", "etc", "scripts",
        "README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE",
        ".ci", ".gitignore", ".swift-format",
    ]

    static func strangers(among names: [String]) -> [String] {
        names.filter { !allowed.contains($0) }
    }
}
