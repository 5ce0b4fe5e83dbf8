// The meaning of the answers, in a few lines that are shown before the file is written.

import Control
import DNSWire

struct SetupSummary {
    /// The rows, each with label and value.
    let rows: [[LocalizedText]]

    init(_ answers: SetupAnswers, former: String?, leftOut: [LocalizedText]) {
        let companies = (answers.providers ?? []).map(\.company) + [answers.service?.company].compactMap(\.self)
        let nameservers: LocalizedText = "the network's nameservers"
        var rows: [[LocalizedText]] =
            companies.isEmpty
            ? [["names go to", "\(nameservers) only"]]
            : [
                [
                    "names go to",
                    LocalizedText(list: companies.withoutRepetition.map(LocalizedText.init(translating:))),
                ],
                ["last resort", nameservers],
            ]
        let blocks = (answers.providers ?? []).map(\.blocks)
        if blocks.contains(true), blocks.contains(false) || answers.service != nil {
            let note: LocalizedText =
                "others resolve blocked names while no provider that blocks is reachable: choose only those that block"
            rows.append(["note", note])
        }
        if let service = answers.service {
            let id: LocalizedText? = answers.accountID.map { "id \($0)" }
            let file: LocalizedText? = answers.shownKeyFile.map {
                answers.key == nil ? "key in \($0)" : "key in \($0) (new)"
            }
            let facts = [LocalizedText(verbatim: service.name), id, file].compactMap(\.self)
            rows.append(["account", LocalizedText(list: facts)])
        }
        let listen = (answers.lan ?? []).map(\.listen.description).joined(separator: ", ")
        let networks = answers.networks.map(\.description).joined(separator: ", ")
        rows.append(["clients", listen.isEmpty ? "this machine" : "this machine, and \(networks) at \(listen)"])
        if let takesOver = answers.takesOver { rows.append(["take over", takesOver ? "yes" : "no"]) }
        if let former { rows.append(["former file", "kept as \(former)"]) }
        for (index, words) in leftOut.enumerated() { rows.append([index == 0 ? "left out of it" : "", words]) }
        self.rows = rows
    }
}
