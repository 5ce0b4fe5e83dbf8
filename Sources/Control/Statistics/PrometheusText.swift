// The Prometheus text format 0.0.4: help and type of each family, then one line per value. It never contains clients or
// the names that they query.

// Durations are histograms, which can be added over machines. Percentiles cannot be added; `stats` shows them to
// people.

/// A metric family: one HELP line and its samples. A family without a value still has its help and type.
package struct MetricFamily<Source>: Sendable {
    private let name: String
    private let kind: MetricKind
    private let help: String
    private let samples: @Sendable (Source) -> [MetricSample]

    /// Returns the values of a family; nil: there are none.
    package typealias Values = @Sendable (Source) -> (any MetricValues)?

    /// - Parameters:
    ///   - name: the name without the prefix.
    ///   - label: the label that tells several values apart.
    package static func counter(
        _ name: String, _ help: String, by label: String = "", _ values: @escaping Values
    ) -> MetricFamily {
        MetricFamily(name: "httpdnsd_\(name)_total", kind: .counter, help: help, label, values)
    }

    /// - Parameter name: the name without the prefix. Names from "process_" are those of all exporters and get none.
    package static func gauge(
        _ name: String, _ help: String, by label: String = "", _ values: @escaping Values
    ) -> MetricFamily {
        MetricFamily(
            name: name.hasPrefix("process_") ? name : "httpdnsd_\(name)", kind: .gauge, help: help, label, values)
    }

    static func histogram(
        _ name: String, _ help: String, by label: String = "", _ values: @escaping Values
    ) -> MetricFamily {
        MetricFamily(name: "httpdnsd_\(name)", kind: .histogram, help: help, label, values)
    }

    private init(name: String, kind: MetricKind, help: String, _ label: String, _ values: @escaping Values) {
        (self.name, self.kind, self.help) = (name, kind, help)
        samples = { values($0)?.samples(by: label) ?? [] }
    }

    /// Makes a family of each entry of a list, with the entry's name as a label.
    func each<Whole>(
        _ label: String, of entries: @escaping @Sendable (Whole) -> [Source]
    ) -> MetricFamily<Whole> where Source: NamedEntry {
        .init(name: name, kind: kind, help: help, "") { whole in
            entries(whole).flatMap { entry in samples(entry).map { $0.with((label, entry.name)) } }
        }
    }

    /// Makes a family of a part, which may not exist.
    func of<Whole>(_ part: @escaping @Sendable (Whole) -> Source?) -> MetricFamily<Whole> {
        .init(name: name, kind: kind, help: help, "") { part($0).map(samples) }
    }

    package func text(of source: Source) -> String {
        let lines = samples(source).map { $0.line(of: name) }
        return "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n" + lines.joined()
    }
}

private enum MetricKind: String {
    case counter, gauge, histogram
}

/// An entry of a list in `stats`, which has its name as a label.
package protocol NamedEntry: Sendable {
    var name: String { get }
}

/// One sample: a value with its labels.
package struct MetricSample {
    /// The suffix: "_bucket", "_sum" or "_count"; empty for the family's own name.
    private let suffix: String
    private var labels: [(name: String, value: String)]
    private let value: Double

    package init(_ value: Double, suffix: String = "", _ labels: (name: String, value: String)...) {
        (self.value, self.suffix, self.labels) = (value, suffix, labels)
    }

    package init(_ value: Int, _ labels: (name: String, value: String)...) {
        (self.value, suffix, self.labels) = (Double(value), "", labels)
    }

    /// Puts a label before the others.
    func with(_ label: (name: String, value: String)) -> MetricSample {
        var sample = self
        sample.labels.insert(label, at: 0)
        return sample
    }

    fileprivate func line(of family: String) -> String {
        let pairs = labels.map { "\($0.name)=\"\(MetricSample.escaped($0.value))\"" }
        let braces = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
        return "\(family)\(suffix)\(braces) \(MetricSample.text(of: value))\n"
    }

    /// Escapes the three characters that the format requires.
    private static func escaped(_ label: String) -> String {
        label.unicodeScalars.map { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "\n": "\\n"
            default: String(scalar)
            }
        }.joined()
    }

    /// Returns the value as text. Whole numbers are written without a decimal point, if they are below 2^53 and
    /// therefore exact.
    fileprivate static func text(of value: Double) -> String {
        if let whole = Int64(exactly: value), abs(value) < 9_007_199_254_740_992 { return "\(whole)" }
        if value.isNaN { return "NaN" }
        return value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : "\(value)"
    }
}

/// The values of a family.
package protocol MetricValues {
    /// - Parameter label: the name of the label that tells the values apart, if there are several.
    func samples(by label: String) -> [MetricSample]
}

extension Int: MetricValues {
    package func samples(by label: String) -> [MetricSample] { [MetricSample(self)] }
}

extension Double: MetricValues {
    package func samples(by label: String) -> [MetricSample] { [MetricSample(self)] }
}

extension Array: MetricValues where Element == MetricSample {
    package func samples(by label: String) -> [MetricSample] { self }
}

extension KeyValuePairs: MetricValues where Key == String, Value: MetricValues {
    package func samples(by label: String) -> [MetricSample] {
        flatMap { key, value in value.samples(by: "").map { $0.with((label, key)) } }
    }
}

/// The values in the order of their keys.
extension Dictionary: MetricValues where Key == String, Value: MetricValues {
    package func samples(by label: String) -> [MetricSample] {
        sorted { $0.key < $1.key }.flatMap { key, value in value.samples(by: "").map { $0.with((label, key)) } }
    }
}

extension StatsTree: MetricValues {
    package func samples(by label: String) -> [MetricSample] {
        switch self {
        case .number(let number): number.samples(by: label)
        case .share(let share): share.samples(by: label)
        case .members(let members): members.samples(by: label)
        case .flag, .text, .list: []
        }
    }
}

extension [MetricSample] {
    /// - Parameter atMost: the upper bounds in seconds, ascending, with cumulative counts.
    init(histogram atMost: [(bound: Double, count: Int)], total: Int, sumSeconds: Double) {
        self = atMost.map { bound, count in
            MetricSample(Double(count), suffix: "_bucket", ("le", MetricSample.text(of: bound)))
        }
        append(MetricSample(Double(total), suffix: "_bucket", ("le", "+Inf")))
        append(MetricSample(sumSeconds, suffix: "_sum"))
        append(MetricSample(Double(total), suffix: "_count"))
    }
}
