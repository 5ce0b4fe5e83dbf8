// swift-tools-version: 6.3
import PackageDescription

// One list of settings for every Swift target: what the compiler can check, it checks.
let strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
    // An eighth of a cache miss would be these checks. The debug program, which the tests run, has them.
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// Also without the libraries of regular expressions and tasks, which would be a part of each program. Tests need them.
let lean: [SwiftSetting] =
    strict + [
        .unsafeFlags([
            "-Xfrontend", "-disable-implicit-string-processing-module-import", "-Xfrontend",
            "-disable-implicit-concurrency-module-import",
        ])
    ]

/// Embedded files become part of the program: it needs none beside it.
func module(_ name: String, _ dependencies: [Target.Dependency] = [], embedded: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, resources: embedded.map { .embedInCode("Page/\($0)") },
        swiftSettings: lean)
}

/// Nothing is linked with a program, so that it exports no symbols: their names are a tenth of it. Relative relocations
/// are packed (DT_RELR, glibc 2.36), another twentieth. Of the linkers that Swift can use, lld does that.
func program(_ name: String, _ dependencies: [Target.Dependency], path: String? = nil) -> Target {
    let flags = ["--no-export-dynamic", "-z", "pack-relative-relocs"].flatMap { ["-Xlinker", $0] }
    return .executableTarget(
        name: name, dependencies: dependencies, path: path, swiftSettings: lean,
        linkerSettings: [.unsafeFlags(["-use-ld=lld"] + flags, .when(configuration: .release))])
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: resources, swiftSettings: strict)
}

/// - Parameter pkgConfig: nil if its flags are of no use: Swift refuses -D.
func debian(_ name: String, pkgConfig: String?, package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

// The targets stand in the order of the picture in ARCHITECTURE.md: programs, wiring, modules, C.
let package = Package(
    name: "httpdnsd",
    products: [
        .executable(name: "httpdnsd", targets: ["httpdnsd"]),
        .executable(name: "httpdnsctl", targets: ["httpdnsd"]),
        .executable(name: "httpdnsd-nftset", targets: ["httpdnsd"]),
        .executable(name: "httpdns-lab", targets: ["httpdns-lab"]),
    ],
    targets: [
        program("httpdnsd", ["Daemon", "LinuxIO", "NFTSetHelper", "httpdnsctl"]),
        module(
            "httpdnsctl",
            ["Control", "Crypto", "DNSWire", "LinuxIO", "Resolver", "Settings", "Telemetry"]),
        module("NFTSetHelper", ["CLinux", "Confinement", "DNSWire", "LinuxIO", "SetFeed", "Settings"]),
        program("httpdns-lab", ["HTTPDNS", "DNSWire", "LinuxIO", "CMicrohttpd"]),

        module(
            "Daemon",
            [
                "Confinement", "Control", "Crypto", "DNSWire", "Fleet", "HTTPClient", "HTTPDNS", "HTTPServer",
                "LinkDNS", "LinuxIO", "Network", "Resolver", "Serving", "SetFeed", "Settings", "Store", "Telemetry",
                "Upstreams",
            ]),

        module(
            "Upstreams",
            [
                "Control", "Crypto", "DNSWire", "Fleet", "HTTPClient", "HTTPDNS", "LinuxIO", "Network", "PublicSuffix",
                "Redis", "Resolver", "Settings", "Telemetry",
            ]),
        module("Serving", ["DNSWire", "LinuxIO", "Telemetry"]),
        module("PublicSuffix", ["CPSL", "DNSWire"]),
        module("Resolver", ["DNSWire", "PublicSuffix"]),
        module("Network", ["CLinux", "DNSWire", "LinuxIO"]),
        module("HTTPDNS", ["Crypto", "DNSWire", "JSON", "Settings"]),
        module("Crypto", ["COpenSSL"]),
        module("HTTPClient", ["CNghttp2", "CZlib", "Crypto", "DNSWire", "LinuxIO"]),
        module(
            "HTTPServer", ["CMicrohttpd", "DNSWire", "LinuxIO"],
            embedded: ["page.html", "page.css", "charts.js", "page.js"]),
        module("Store", ["CSQLite", "DNSWire"]),
        module("Settings", ["CTOML", "DNSWire", "InternationalNames", "JSON"]),
        module("SetFeed", ["DNSWire"]),
        module("Fleet", ["Crypto", "DNSWire"]),
        module("Redis", ["CHiredis", "DNSWire", "LinuxIO"]),
        module("Confinement", ["CSeccomp"]),
        module("LinkDNS", ["CSystemd", "DNSWire"]),
        module("LinuxIO", ["CLinux", "DNSWire"]),
        module("Telemetry", ["DNSWire"]),
        module("Control", ["DNSWire", "InternationalNames", "JSON", "Telemetry"]),
        module("InternationalNames", ["CIDN2"]),
        module("JSON"),
        module("DNSWire"),

        .target(name: "CLinux"),
        .target(name: "CTOML"),
        debian("CIDN2", pkgConfig: "libidn2", package: "libidn2-dev"),
        debian("CPSL", pkgConfig: "libpsl", package: "libpsl-dev"),
        debian("COpenSSL", pkgConfig: "openssl", package: "libssl-dev"),
        debian("CNghttp2", pkgConfig: "libnghttp2", package: "libnghttp2-dev"),
        debian("CZlib", pkgConfig: "zlib", package: "zlib1g-dev"),
        debian("CSQLite", pkgConfig: "sqlite3", package: "libsqlite3-dev"),
        debian("CSeccomp", pkgConfig: "libseccomp", package: "libseccomp-dev"),
        debian("CSystemd", pkgConfig: "libsystemd", package: "libsystemd-dev"),
        debian("CHiredis", pkgConfig: nil, package: "libhiredis-dev"),
        debian("CMicrohttpd", pkgConfig: "libmicrohttpd", package: "libmicrohttpd-dev"),

        tests("DNSWireTests", ["DNSWire", "Serving", "TestSupport"], resources: ["Vectors"]),
        tests(
            "ServingTests",
            ["DNSWire", "LinuxIO", "Serving", "Telemetry", "TestSupport", "CAllocationCounter"]),
        tests("PublicSuffixTests", ["PublicSuffix", "DNSWire"]),
        tests(
            "ResolverTests", ["DNSWire", "Fleet", "PublicSuffix", "Resolver", "TestSupport"], resources: ["Scenarios"]),
        tests("NetworkTests", ["Network", "CLinux", "DNSWire", "LinuxIO", "TestSupport"], resources: ["Vectors"]),
        tests("JSONTests", ["JSON", "TestSupport"]),
        tests("HTTPDNSTests", ["Crypto", "HTTPDNS", "DNSWire", "JSON", "Settings", "httpdns-lab", "TestSupport"]),
        tests("ExchangeTests", ["HTTPClient", "HTTPDNS", "DNSWire", "JSON", "LinuxIO", "httpdns-lab", "TestSupport"]),
        tests("CryptoTests", ["Crypto", "COpenSSL", "TestSupport", "TestTLS"]),
        tests(
            "HTTPClientTests",
            ["HTTPClient", "CNghttp2", "COpenSSL", "Crypto", "DNSWire", "LinuxIO", "TestSupport"]),
        tests("HTTPServerTests", ["HTTPServer", "DNSWire", "LinuxIO", "TestSupport"]),
        tests("StoreTests", ["Store", "CSQLite", "DNSWire", "TestSupport"]),
        tests("SettingsTests", ["Settings", "DNSWire", "TestSupport"]),
        tests("LinuxIOTests", ["CLinux", "LinuxIO", "DNSWire", "TestSupport"]),
        tests("LinkDNSTests", ["DNSWire", "LinkDNS"]),
        tests("ConfinementTests", ["Confinement", "CSeccomp", "DNSWire", "LinuxIO"]),
        tests("SetFeedTests", ["CLinux", "DNSWire", "LinuxIO", "NFTSetHelper", "SetFeed", "Settings"]),
        tests("FleetTests", ["DNSWire", "Fleet", "TestSupport"]),
        tests("RedisTests", ["DNSWire", "Fleet", "LinuxIO", "Redis", "TestSupport"]),
        tests("TelemetryTests", ["Telemetry", "DNSWire", "LinuxIO", "TestSupport"]),
        tests("ControlTests", ["Control", "DNSWire", "Telemetry", "TestSupport"]),
        tests(
            "DaemonTests",
            [
                "Control", "Crypto", "Daemon", "DNSWire", "HTTPClient", "HTTPDNS", "HTTPServer", "LinuxIO", "Network",
                "Resolver", "Serving", "Settings", "Store", "Telemetry", "TestSupport", "TestTLS", "Upstreams",
            ], resources: ["Control/Explanations", "Statistics/Expected"]),
        tests(
            "UpstreamsTests",
            [
                "DNSWire", "Fleet", "HTTPClient", "HTTPDNS", "LinuxIO", "Network", "Redis", "Resolver", "Settings",
                "TestSupport", "Upstreams",
            ]),
        tests("DayTests", ["Daemon", "DNSWire", "LinuxIO", "Resolver", "Serving", "Store", "TestSupport"]),
        tests("TakeoverTests", ["httpdnsctl", "DNSWire", "LinuxIO", "Resolver", "TestSupport"]),
        tests("DoctorTests", ["httpdnsctl", "Control", "DNSWire", "LinuxIO", "Resolver", "TestSupport"]),
        tests("SetupTests", ["Control", "httpdnsctl", "DNSWire", "LinuxIO", "Settings", "TestSupport"]),
        tests("TextTests", ["httpdnsctl", "Settings", "TestSupport"]),
        tests("BugReportTests", ["httpdnsctl", "Settings"]),
        tests("ManualTests", ["Control", "Daemon", "HTTPServer", "Resolver", "Settings", "TestSupport"]),
        tests("TidyTests", ["TestSupport"]),
        tests("CorpusTests", ["FuzzEntries", "TestSupport"]),
        program(
            "probe-load", ["Daemon", "DNSWire", "LinuxIO", "Resolver", "Settings"], path: "Tests/Benchmarks/ProbeLoad"),
        program(
            "instruction-load", ["DNSWire", "HTTPDNS", "Resolver", "Serving"], path: "Tests/Benchmarks/Instructions"),
        program("Fuzz", ["FuzzEntries"], path: "Tests/Fuzz/Fuzz"),
        .target(
            name: "FuzzEntries",
            dependencies: [
                "Control", "Crypto", "DNSWire", "HTTPClient", "JSON", "LinuxIO", "Network", "Resolver", "Serving",
                "SetFeed", "Settings", "Telemetry", "TestSupport",
            ],
            path: "Tests/Fuzz/FuzzEntries", swiftSettings: strict),
        .target(
            name: "TestSupport", dependencies: ["DNSWire", "Serving"], path: "Tests/TestSupport",
            swiftSettings: strict),
        .target(name: "TestTLS", dependencies: ["COpenSSL"], path: "Tests/TestTLS", swiftSettings: strict),
        .target(name: "CAllocationCounter", path: "Tests/CAllocationCounter"),
    ],
    swiftLanguageModes: [.v6],
    cxxLanguageStandard: .cxx17
)

// A build for some of the tests, as the one in release is, would compile all of them. An empty list builds the programs
// only: without tests, fuzzers and benchmarks.
if let only = Context.environment["HTTPDNSD_ONLY_TESTS"] {
    let names = only.split(separator: ",").map(String.init)
    package.targets.removeAll { target in
        let isForTests = target.path?.hasPrefix("Tests/") ?? false
        return target.type == .test && !names.contains(target.name) || names.isEmpty && isForTests
    }
}
