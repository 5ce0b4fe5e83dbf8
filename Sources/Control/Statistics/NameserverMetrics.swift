// Prometheus metrics of the operator's nameservers, labelled with their names in the settings.

extension MetricFamily {
    static let ofNameservers: [MetricFamily] = [
        .gauge("nameserver_up", "0 if the servers of a nameserver fail, otherwise 1.") {
            $0.nameservers.map { MetricSample($0.state == "down" ? 0 : 1, ("nameserver", $0.name)) }
        },
        .gauge("nameserver_retry_seconds", "Time until a nameserver that fails counts as possibly back.") {
            $0.nameservers.compactMap { server in
                server.retrySeconds.map { MetricSample($0, ("nameserver", server.name)) }
            }
        },
        .gauge("nameserver_success_ratio", "Share of the last 64 questions to a nameserver that were answered.") {
            $0.nameservers.compactMap { server in
                server.success.map { MetricSample($0, ("nameserver", server.name)) }
            }
        },
        .counter("nameserver_requests_begun", "Questions sent to a nameserver.") {
            $0.nameservers.map { MetricSample($0.requests, ("nameserver", $0.name)) }
        },
        .counter("nameserver_requests", "Questions to a nameserver that ended, by result: success or kind of failure.")
        {
            $0.nameservers.flatMap { [MetricSample]($0.results, by: "result", and: ("nameserver", $0.name)) }
        },
        .histogram("nameserver_duration_seconds", "Time from a question to a nameserver to its reply.") {
            $0.nameservers.filter(\.durations.hasSome).flatMap { $0.durations.samples(("nameserver", $0.name)) }
        },
    ]

    static let ofNameserverConnections = connections(to: "nameserver") {
        $0.nameservers.map { ($0.name, $0.connections) }
    }
}
