// Aliases that rules give to names.

import DNSWire

extension Routing {
    func aliases(of question: Question) -> AliasQuestions? {
        var links: [ResourceRecord] = []
        var name = question.name
        while let target = alias(of: Question(name, question.type, from: question.clients)) {
            let isLoop = target == name || links.contains { $0.owner == target }
            guard !isLoop, links.count < AliasChain.maxLinks else { return AliasQuestions(links: links, target: nil) }
            links.append(ResourceRecord(owner: name, alias: target, ttlSeconds: Bounds.ruleTTLSeconds))
            name = target
        }
        let target = Question(name, question.type, from: question.clients)
        return links.isEmpty ? nil : AliasQuestions(links: links, target: target)
    }

    private func alias(of question: Question) -> Name? {
        guard case .alias(let target) = answeringRule(of: question)?.answer else { return nil }
        return target
    }
}
