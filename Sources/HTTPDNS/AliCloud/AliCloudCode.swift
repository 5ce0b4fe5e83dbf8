// The error codes of Alibaba's service, `{"code":"..."}` with an HTTP status (providers.md 2.2), and the errors that
// they map to.

import DNSWire

enum AliCloudCode: String, CaseIterable {
    case missingArgument = "MissingArgument"
    case invalidHost = "InvalidHost"
    case tooManyHosts = "TooManyHosts"
    case limitExceeded = "LimitExceeded"
    case sdnsNotSupported = "SdnsNotSupported"
    case unsignedInterfaceDisabled = "UnsignedInterfaceDisabled"
    case signatureExpired = "SignatureExpired"
    case invalidSignature = "InvalidSignature"
    case invalidDuration = "InvalidDuration"
    case invalidAccount = "InvalidAccount"
    case accountNotExists = "AccountNotExists"
    case serviceLevelDeny = "ServiceLevelDeny"
    case methodNotAllowed = "MethodNotAllowed"
    case internalError = "InternalError"

    /// Returns nil for a body without a known code.
    init?(in body: [UInt8]) {
        guard let text = try? JSONBody.decode(ErrorBody.self, from: body).code else { return nil }
        self.init(rawValue: text)
    }

    private struct ErrorBody: Decodable {
        let code: String
    }

    var status: Int {
        switch self {
        case .missingArgument, .invalidHost, .tooManyHosts, .limitExceeded, .sdnsNotSupported: 400
        case .methodNotAllowed: 405
        case .internalError: 500
        case .unsignedInterfaceDisabled, .signatureExpired, .invalidSignature, .invalidDuration, .invalidAccount,
            .accountNotExists, .serviceLevelDeny:
            403
        }
    }

    /// The client's error for this code.
    var heard: DialectError {
        switch self {
        case .signatureExpired, .invalidDuration: .clock
        case .unsignedInterfaceDisabled, .invalidSignature, .invalidAccount, .accountNotExists: .account(rawValue)
        case .serviceLevelDeny: .wrongNode
        case .invalidHost: .unsupported
        case .missingArgument, .tooManyHosts, .limitExceeded, .sdnsNotSupported, .methodNotAllowed, .internalError:
            .status(status)
        }
    }

    /// Server side: the error that carries the exact code from the request to the reply, since several codes map to one
    /// client error. `init(thrown:)` restores it.
    var thrown: DialectError { .account(rawValue) }

    private init(thrown error: DialectError) {
        self =
            switch error {
            case .account(let text): AliCloudCode(rawValue: text) ?? .invalidAccount
            case .clock: .signatureExpired
            case .wrongNode: .serviceLevelDeny
            case .unsupported: .invalidHost
            case .garbage, .wrongQuestion: .missingArgument
            case .status, .throttled, .serverFailure, .forbidden, .notServed: .internalError
            }
    }

    var reply: HTTPReply { .aliCloud(status: status, .object([("code", .string(rawValue))])) }

    /// Returns the `reply(to:)` of both versions.
    static func reply(to error: DialectError) -> HTTPReply {
        switch error {
        case .status(let status): HTTPReply(status: status)
        case .throttled: HTTPReply(status: 429)
        default: AliCloudCode(thrown: error).reply
        }
    }
}

extension HTTPReply {
    /// Returns `acceptedBody()`, or throws the vendor's error code if the reply has one.
    func acceptedAliCloudBody() throws(DialectError) -> [UInt8] {
        if status != 200, status != 429, let code = AliCloudCode(in: body) { throw code.heard }
        return try acceptedBody()
    }

    static func aliCloud(status: Int = 200, _ body: OrderedJSON) -> HTTPReply {
        HTTPReply(
            status: status, headers: HTTPHeaders([.init("Content-Type", "application/json")]),
            body: Array(body.text.utf8))
    }
}
