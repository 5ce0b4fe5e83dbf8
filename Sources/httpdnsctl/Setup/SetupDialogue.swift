// The dialogue of `httpdnsctl setup`: which question is next, and what a typed line changes. Each answer is read by the
// code that reads its flag. Reads and writes nothing.

import Control
import DNSWire
import LinuxIO
import Settings

struct SetupDialogue: Sendable {
    private(set) var answers: SetupAnswers
    private let output: String
    /// Where an existing file is kept; nil without one.
    private let former: String?
    private let settings: FormerSettings
    /// The operator has an account; its service is asked for next.
    private var hasAccount = false
    /// Whether the operator has confirmed the file; nil while not asked.
    private var isConfirmed: Bool?
    /// The addresses of hosts by this machine's resolver, which is asked once for each.
    private var resolved: [String: [Address]] = [:]

    static let greeting: LocalizedText =
        "Four questions. Enter takes the answer in [brackets], and Ctrl-C ends without a change."

    init(_ answers: SetupAnswers, output: String, former: String?, settings: FormerSettings = .none) {
        self.answers = answers
        self.output = output
        self.former = former
        self.settings = settings
        resolve()
    }

    /// The next question; nil at the end.
    var question: SetupQuestion? {
        let missing = answers.missing.first
        if answers.needsKey, missing.map({ !SetupDialogue.precedesKey($0) }) ?? true { return keyQuestion }
        if let missing { return question(missing) }
        return isConfirmed == nil && !answers.machine.isDryRun ? confirmation : nil
    }

    /// Whether everything is answered and the file may be written.
    var isAccepted: Bool { question == nil && isConfirmed != false }

    /// - Throws: the allowed answers; the same question is next then.
    mutating func take(_ line: String) throws(SetupRefusal) {
        guard let question else { return }
        switch question.subject {
        case .key: try answers.takeKey(line)
        case .confirmation: try takeConfirmation(question.value(of: line))
        case .answer(let answer):
            let value = try question.value(of: line)
            guard answer == .account else {
                try answers.take(answer, value)
                return resolve()
            }
            try hasAccount ? takeService(value) : takeAccount(value)
        }
    }

    /// Asks this machine's resolver for the addresses of the next question.
    private mutating func resolve() {
        guard let host = answers.withoutAddresses?.host, resolved[host] == nil else { return }
        resolved[host] = answers.machine.resolve(host)
    }

    /// The details of an account are asked before its key.
    private static func precedesKey(_ answer: SetupFlags.Answer) -> Bool {
        switch answer {
        case .providers, .providerAddresses, .account, .accountID, .accessKey, .url, .addresses, .keyFile: true
        case .lan, .allow, .takeOver: false
        }
    }

    /// Reads the answer about an account. Yes leads to the list of services; the name of a service is an answer, too.
    private mutating func takeAccount(_ value: String) throws(SetupRefusal) {
        guard SetupAnswers.isYes(value) != true else {
            hasAccount = true
            return
        }
        do throws(SetupRefusal) {
            try answers.take(.account, value)
        } catch {
            throw SetupRefusal("found \(tomlString(value)); allowed: no, yes")
        }
    }

    private mutating func takeService(_ value: String) throws(SetupRefusal) {
        guard SetupAnswers.isYes(value) != true else { throw SetupRefusal("choose a number") }
        try answers.take(.account, value)
    }

    private mutating func takeConfirmation(_ value: String) throws(SetupRefusal) {
        isConfirmed = SetupAnswers.isYes(value)
        guard isConfirmed != nil else { throw SetupRefusal("found \(tomlString(value)); allowed: yes, no") }
    }

    // MARK: questions

    private func question(_ answer: SetupFlags.Answer) -> SetupQuestion {
        switch answer {
        case .providers: providersQuestion
        case .providerAddresses: addressesQuestion
        case .account: hasAccount ? serviceQuestion : accountQuestion
        case .accountID: SetupQuestion(subject: .answer(answer), prompt: "Account id, from the vendor")
        case .accessKey: SetupQuestion(subject: .answer(answer), prompt: "AccessKey id, from the vendor")
        case .url, .addresses:
            SetupQuestion(subject: .answer(answer), prompt: "Addresses of \(answers.providerURL), from the vendor")
        case .keyFile: keyFileQuestion
        case .lan: lanQuestion
        case .allow:
            SetupQuestion(
                subject: .answer(answer),
                lines: [unknownNetwork],
                prompt: "Networks of all machines that may query, such as 192.168.1.0/24")
        case .takeOver: takeOverQuestion
        }
    }

    private var providersQuestion: SetupQuestion {
        let choices =
            Settings.Provider.Preset.all.map { SetupQuestion.Choice(value: $0.choice, meaning: $0.words) }
            + [
                SetupQuestion.Choice(
                    value: "none", meaning: "your own account (question 2), or the network's nameservers")
            ]
        return SetupQuestion(
            subject: .answer(.providers),
            title: "1. Which companies may see the names that are looked up here?",
            lines: [
                "Each provider sees the names that it is asked for. With several, a bad one is avoided.",
                "Another provider: paste its https:// URL or its sdns:// stamp.",
            ], choices: choices, usual: Settings.Provider.builtIn.map(\.name).joined(separator: ","),
            prompt: "Answer, such as 1 3")
    }

    private var addressesQuestion: SetupQuestion {
        let host = answers.withoutAddresses?.host ?? ""
        let found = resolved[host] ?? []
        return SetupQuestion(
            subject: .answer(.providerAddresses),
            lines: [
                "The daemon dials a provider by its addresses, so that no name is needed for that.",
                found.isEmpty
                    ? "This machine's resolver finds no address of \(host)."
                    : "These are the addresses of \(host) by this machine's resolver.",
            ], usual: found.isEmpty ? nil : found.map(\.description).joined(separator: ","),
            prompt: "Addresses of \(host)")
    }

    private var accountQuestion: SetupQuestion {
        let companies = VendorAccount.all.map(\.company).withoutRepetition.map(LocalizedText.init(translating:))
        let (others, last) = (Array(companies.dropLast()), companies.last ?? "")
        return SetupQuestion(
            subject: .answer(.account),
            title: "2. Do you have an account with a vendor of HTTPDNS? It is added to those above.",
            choices: [
                SetupQuestion.Choice(value: "no", meaning: "no account"),
                SetupQuestion.Choice(value: "yes", meaning: "with \(list: others) or \(last)"),
            ], usual: "no", prompt: "Answer")
    }

    private var serviceQuestion: SetupQuestion {
        SetupQuestion(
            subject: .answer(.account),
            choices: VendorAccount.all.map {
                SetupQuestion.Choice(
                    value: $0.name,
                    meaning: """
                        \(LocalizedText(translating: $0.company)): \(LocalizedText(translating: $0.product))
                        """)
            }, prompt: "Service")
    }

    private var keyFileQuestion: SetupQuestion {
        let name = answers.service?.name ?? "account"
        return SetupQuestion(
            subject: .answer(.keyFile),
            lines: ["The key has a file of its own. If that does not exist, you can type the key."],
            usual: "\(answers.machine.directory)/\(name).key", prompt: "Key file")
    }

    private var keyQuestion: SetupQuestion {
        SetupQuestion(
            subject: .key, prompt: "Key for \(Settings.Provider.shown(file: answers.keyFile ?? "")), not shown")
    }

    private var lanQuestion: SetupQuestion {
        let addresses = answers.machine.lanAddresses.map { entry in
            SetupQuestion.Choice(
                value: "\(entry.address)",
                meaning: "this machine, and \(answers.machine.clients(of: entry.address)) (\(entry.interface))")
        }
        return SetupQuestion(
            subject: .answer(.lan),
            title: "3. Which machines may use it? Others reach this one at the address that you choose.",
            choices: [SetupQuestion.Choice(value: "no", meaning: "this machine only")] + addresses, usual: "no",
            prompt: "Answer, or another address")
    }

    private var unknownNetwork: LocalizedText {
        let unknown = (answers.lan ?? []).filter { $0.network == nil }.map(\.listen.address)
        let isOwn = answers.machine.addresses.contains { unknown.contains($0.address) }
        let addresses = answers.addressesWithoutNetwork
        return isOwn
            ? "This machine knows no network of \(addresses)."
            : "No interface of this machine has the address \(addresses)."
    }

    private var takeOverQuestion: SetupQuestion {
        SetupQuestion(
            subject: .answer(.takeOver),
            title: "4. Shall this machine resolve its names with httpdnsd now?",
            lines: ["It changes /etc/resolv.conf; \"httpdnsctl system restore\" undoes that."],
            choices: [
                SetupQuestion.Choice(value: "no", meaning: "later, with \"httpdnsctl system use\""),
                SetupQuestion.Choice(value: "yes", meaning: "now"),
            ], usual: "no", prompt: "Answer")
    }

    private var confirmation: SetupQuestion {
        let leftOut = (try? answers.settingsFile(at: output, replacing: settings).leftOut) ?? []
        let rows = SetupSummary(answers, former: former, leftOut: leftOut).rows
        return SetupQuestion(
            subject: .confirmation, title: LocalizedText(verbatim: output), rows: rows, usual: "yes",
            prompt: "Write it?")
    }
}
