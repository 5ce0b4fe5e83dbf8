// Lines of hosts and lease files that were not understood: their number, and where the first ones are.

package struct IgnoredLines: Equatable, Sendable {
    package enum Reason: String, Equatable, Sendable {
        case address = "no IP address where one belongs"
        case noName = "an address without a name"
        case name = "a word that is no domain name"
        case expiry = "no time where the end of the lease belongs"
        case shape = "not a line of this format"
        case tooManyAddresses = "a name with more addresses than are kept"
        case tooManyNames = "more names than are kept; the rest of the file is ignored"
        case tooManyLeases = "more leases than are kept; the rest of the file is ignored"
    }

    package struct Line: Equatable, Sendable {
        package let number: Int
        package let reason: Reason
    }

    /// The number of lines that are kept: more lines tell an operator nothing new.
    private static let maxFirst = 10

    package private(set) var count = 0
    package private(set) var first: [Line] = []
    private var lastLine = 0

    package init() {}

    mutating func add(line: Int, _ reason: Reason) {
        // Several words of one line count once.
        guard line != lastLine else { return }
        lastLine = line
        count += 1
        if first.count < IgnoredLines.maxFirst { first.append(Line(number: line, reason: reason)) }
    }

    /// Adds a line from which the rest of the file is ignored. The line is shown in any case.
    mutating func stop(line: Int, _ reason: Reason) {
        count += 1
        first = first.prefix(IgnoredLines.maxFirst - 1) + [Line(number: line, reason: reason)]
    }
}
