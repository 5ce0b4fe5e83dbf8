// Durations, sizes and rates: a number directly followed by its unit.

import DNSWire

private struct Unit {
    let name: String
    let factor: Int64
    /// Other spellings in lower case, which are refused with this unit as the remedy.
    var misspellings: [String] = []
    /// False for a unit that is only parsed: "24h" and "1d" are equal, and the writer uses one form.
    var isWritten = true
}

private let durationUnits = [
    Unit(name: "ms", factor: 1, misspellings: ["msec", "msecs", "millisecond", "milliseconds"]),
    Unit(name: "s", factor: 1000, misspellings: ["sec", "secs", "second", "seconds"]),
    Unit(name: "m", factor: 60_000, misspellings: ["min", "mins", "minute", "minutes"]),
    Unit(name: "h", factor: 3_600_000, misspellings: ["hr", "hrs", "hour", "hours"]),
    Unit(name: "d", factor: 86_400_000, misspellings: ["day", "days"], isWritten: false),
]
private let rateUnits = [Unit(name: "/s", factor: 1, misspellings: ["/sec", "/second", "persecond", "qps"])]
private let sizeUnits = [
    Unit(name: "B", factor: 1, misspellings: ["byte", "bytes"]),
    Unit(name: "KiB", factor: 1 << 10, misspellings: ["k", "kb", "ki"]),
    Unit(name: "MiB", factor: 1 << 20, misspellings: ["m", "mb", "mi"]),
    Unit(name: "GiB", factor: 1 << 30, misspellings: ["g", "gb", "gi"]),
]

extension Format<Duration> {
    /// The format of a duration in whole milliseconds.
    static func duration(_ range: ClosedRange<Duration>) -> Format {
        quantity(
            "a duration", units: durationUnits, usual: durationUnits[1], least: range.lowerBound.milliseconds,
            most: range.upperBound.milliseconds, make: { .milliseconds($0) }, count: \.milliseconds)
    }

    /// The format of a duration in whole seconds, for TTLs.
    static func wholeSeconds(_ range: ClosedRange<Duration>) -> Format {
        quantity(
            "a duration", units: Array(durationUnits.dropFirst()), usual: durationUnits[1],
            least: range.lowerBound.milliseconds, most: range.upperBound.milliseconds,
            make: { .milliseconds($0) }, count: \.milliseconds)
    }
}

extension Format<Int> {
    /// The format of a size in bytes.
    static func size(_ range: ClosedRange<Int>) -> Format {
        quantity(
            "a size", units: sizeUnits, usual: sizeUnits[2], least: Int64(range.lowerBound),
            most: Int64(range.upperBound), make: { Int($0) }, count: { Int64($0) })
    }

    /// The format of a duration as a number of seconds, for dialects.
    static func seconds(_ range: ClosedRange<Int>) -> Format {
        quantity(
            "a duration", units: Array(durationUnits.dropFirst()), usual: durationUnits[1],
            least: Int64(range.lowerBound) * 1000, most: Int64(range.upperBound) * 1000,
            make: { Int($0 / 1000) }, count: { Int64($0) * 1000 })
    }

    /// The format of a rate per second.
    static func rate(_ range: ClosedRange<Int>) -> Format {
        quantity(
            "a rate", units: rateUnits, usual: rateUnits[0], least: Int64(range.lowerBound),
            most: Int64(range.upperBound), make: { Int($0) }, count: { Int64($0) })
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { Int64(wholeMilliseconds) }
}

extension Format {
    /// The format of a number with a unit; `usual` is the unit suggested for a number without one.
    private static func quantity(
        _ kind: String, units: [Unit], usual: Unit, least: Int64, most: Int64,
        make: @escaping @Sendable (Int64) -> Value, count: @escaping @Sendable (Value) -> Int64
    ) -> Format {
        let bounds = "from \(text(least, units, usual)) to \(text(most, units, usual))"
        let allowed = "\(kind) \(bounds) with its unit (\(units.map(\.name).joined(separator: ", ")))"
        let parse = { @Sendable (text: String) -> Value? in
            guard let value = number(text, units), (least...most).contains(value) else { return nil }
            return make(value)
        }
        return .text(
            allowed: allowed, schema: .matching(pattern(units, least, most)), remediesIntegers: true,
            remedy: { text in
                guard let (proposal, lacksUnit) = proposal(for: text, units, usual), parse(proposal) != nil else {
                    return nil
                }
                return (lacksUnit ? "a unit is missing: " : "") + "write \"\(proposal)\""
            },
            parse: parse, write: { text(count($0), units, usual) })
    }

    /// Returns the number of the text with a unit; it may be out of range.
    private static func proposal(
        for text: String, _ units: [Unit], _ usual: Unit
    ) -> (text: String, lacksUnit: Bool)? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let word = text.dropFirst(digits.count).filter { $0 != " " }.lowercased()
        if word.isEmpty { return ("\(digits)\(usual.name)", true) }
        let unit = units.first { $0.name.lowercased() == word || $0.misspellings.contains(word) }
        return unit.map { ("\(digits)\($0.name)", false) }
    }

    /// The numbers from `least` to `most` that each unit can write.
    private static func pattern(_ units: [Unit], _ least: Int64, _ most: Int64) -> String {
        units.compactMap { unit in
            let (low, high) = (Int((least + unit.factor - 1) / unit.factor), Int(most / unit.factor))
            return low <= high ? "0*\(TextPattern.number(low...high))\(unit.name)" : nil
        }.joined(separator: "|")
    }

    private static func number(_ text: String, _ units: [Unit]) -> Int64? {
        let digits = text.utf8.prefix(while: \.isDigit)
        let rest = text[digits.endIndex...]
        guard let unit = units.first(where: { $0.name == rest }), let number = Int64(text[..<digits.endIndex]) else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        return overflow ? nil : product
    }

    /// Writes the number with the largest unit without a fraction; zero has the usual unit.
    private static func text(_ count: Int64, _ units: [Unit], _ usual: Unit) -> String {
        let unit = count == 0 ? usual : units.last { $0.isWritten && count.isMultiple(of: $0.factor) } ?? usual
        return "\(count / unit.factor)\(unit.name)"
    }
}
