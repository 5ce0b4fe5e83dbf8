// `stats` in the Prometheus text format 0.0.4: help and type of each family, then one line per value. It never contains
// clients or the names that they query.

// Durations are histograms, which can be added over machines. Percentiles cannot be added; `stats` shows them to
// people.

extension StatsReport {
    /// The metrics as text, which ends with a newline. Families without a value still have their help and type.
    package var prometheus: String {
        StatsReport.metrics.map { family in family.text(of: self) }.joined()
    }

    /// Every family, once each.
    static let metrics =
        MetricFamily.ofServing + MetricFamily.ofCache + MetricFamily.ofProviders
        + MetricFamily.ofProviderConnections + MetricFamily.ofTransfers + MetricFamily.ofNameservers
        + MetricFamily.ofNameserverConnections + MetricFamily.ofVerification + MetricFamily.ofNetworks
        + MetricFamily.ofReceivers + MetricFamily.ofNFTSets + MetricFamily.ofFleet + MetricFamily.ofProcess
}

/// A metric family: one HELP line and its samples.
struct MetricFamily: Sendable {
    enum Kind: String {
        case counter, gauge, histogram
    }

    static let prefix = "httpdnsd_"

    let name: String
    let kind: Kind
    let help: String
    let samples: @Sendable (StatsReport) -> [MetricSample]

    /// - Parameter name: the name without `prefix`.
    static func counter(
        _ name: String, _ help: String, _ samples: @escaping @Sendable (StatsReport) -> [MetricSample]
    ) -> MetricFamily {
        MetricFamily(name: prefix + name + "_total", kind: .counter, help: help, samples: samples)
    }

    static func gauge(
        _ name: String, _ help: String, _ samples: @escaping @Sendable (StatsReport) -> [MetricSample]
    ) -> MetricFamily {
        MetricFamily(name: prefix + name, kind: .gauge, help: help, samples: samples)
    }

    static func histogram(
        _ name: String, _ help: String, _ samples: @escaping @Sendable (StatsReport) -> [MetricSample]
    ) -> MetricFamily {
        MetricFamily(name: prefix + name, kind: .histogram, help: help, samples: samples)
    }

    fileprivate func text(of report: StatsReport) -> String {
        let lines = samples(report).map { $0.line(of: name) }
        return "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n" + lines.joined()
    }
}

/// One sample: a value with its labels.
struct MetricSample {
    /// The suffix: "_bucket", "_sum" or "_count"; empty for the family's own name.
    private let suffix: String
    private let labels: [(name: String, value: String)]
    private let value: Double

    init(_ value: Double, suffix: String = "", _ labels: (name: String, value: String)...) {
        self.init(value, suffix: suffix, labels: labels)
    }

    init(_ value: Int, suffix: String = "", _ labels: (name: String, value: String)...) {
        self.init(Double(value), suffix: suffix, labels: labels)
    }

    init(_ value: Double, suffix: String, labels: [(name: String, value: String)]) {
        self.suffix = suffix
        self.labels = labels
        self.value = value
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
    static func text(of value: Double) -> String {
        if let whole = Int64(exactly: value), abs(value) < 9_007_199_254_740_992 { return "\(whole)" }
        if value.isNaN { return "NaN" }
        return value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : "\(value)"
    }
}

extension [MetricSample] {
    /// Makes one sample per key, in the order of the keys.
    init(_ counts: [String: Int], by label: String, and others: (name: String, value: String)...) {
        self = counts.sorted { $0.key < $1.key }.map { key, count in
            MetricSample(Double(count), suffix: "", labels: others + [(label, key)])
        }
    }

    /// - Parameter atMost: the upper bounds in seconds, ascending, with cumulative counts.
    init(
        histogram atMost: [(bound: Double, count: Int)], total: Int, sumSeconds: Double,
        _ labels: [(name: String, value: String)]
    ) {
        self = atMost.map { bound, count in
            MetricSample(Double(count), suffix: "_bucket", labels: labels + [("le", MetricSample.text(of: bound))])
        }
        append(MetricSample(Double(total), suffix: "_bucket", labels: labels + [("le", "+Inf")]))
        append(MetricSample(sumSeconds, suffix: "_sum", labels: labels))
        append(MetricSample(Double(total), suffix: "_count", labels: labels))
    }
}
