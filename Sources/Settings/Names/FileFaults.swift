// The errors of a file with a list of names.

struct FileFaults {
    /// Maximum number of faults; more suggest a wrong file.
    private static let maxFaults = 10
    private static let maxLabelBytes = 63

    private let file: String
    private var all: [Complaint] = []
    /// There are so many faults that the rest of the file is not worth parsing.
    private(set) var areTooMany = false

    init(file: String) {
        self.file = file
    }

    mutating func add(line: Int, column: Int, _ text: String) {
        guard all.count < FileFaults.maxFaults else {
            let text = "more wrong lines than this file can have by mistake; the rest was not checked"
            all.append(Complaint(file: file, line: line, column: 1, text: text))
            areTooMany = true
            return
        }
        all.append(Complaint(file: file, line: line, column: column, text: text))
    }

    mutating func giveUp() { areTooMany = true }

    func throwIfAny() throws(SettingsError) {
        guard all.isEmpty else { throw SettingsError(all) }
    }

    /// Returns a wrong word of an account's file in quotes if it may be shown: the file may be the key file by mistake.
    /// Only a word with a dot counts as a name. The parts of a signed token have dots as well, but are longer than a
    /// label can be.
    static func shown(_ word: String) -> String { looksLikeName(word) ? quoted(word) : hiddenValue }

    static func looksLikeName(_ word: String) -> Bool {
        let labels = (word.hasPrefix("=") ? word.dropFirst() : word[...]).split(separator: ".")
        return word.contains(".")
            && labels.allSatisfy { label in
                label.utf8.count <= maxLabelBytes
                    && label.allSatisfy { $0.isLetter || $0.isNumber || "-_*".contains($0) }
            }
    }
}
