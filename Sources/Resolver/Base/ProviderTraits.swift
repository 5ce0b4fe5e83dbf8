// The properties of a provider that the resolver takes from the settings.

package import DNSWire

package struct ProviderTraits: Hashable, Sendable {
    package enum Types: Hashable, Sendable {
        case a
        case addresses
        case listed(Set<RecordType>)
        case any
    }

    package let id: RankedID
    package let types: Types
    /// Maximum number of names in one request.
    package let maxNames: Int
    /// One request can ask for both address families of its names.
    package let asksBothFamilies: Bool
    /// Requests that the provider's connections carry at once, as far as known before the first connection.
    package let parallelRequests: Int
    /// Maximum number of refresh questions per second.
    package let budgetPerSecond: Int
    /// Maximum number of questions per second, clients' included, while another upstream can serve; nil: unlimited.
    package let questionsPerSecond: Int?
    /// The handling of a question when the provider's budget or quota is used up.
    package let whenUsedUp: WhenUsedUp
    /// Share of lookups, from 0 to 1, in which this provider's answers are compared with those in use and never used
    /// themselves. Nil: an ordinary provider.
    package let shadowShare: Double?
    /// The operator chose the provider as a filter: its word about a name is final, and providers that filter nothing
    /// are asked only if none that filters can be reached.
    package let filters: Bool
    /// The provider is authenticated by TLS.
    package let verifies: Bool
    /// The provider is asked only for its own names (`AccountTable`), and for names that a rule sends to it.
    package let hasOwnNames: Bool
    /// The provider's format has CNAME records.
    package let carriesAliases: Bool
    /// The provider's format has DO and CD, signatures, and the records that prove a denial.
    package let carriesDNSSEC: Bool
    /// The vendor counts the questions for the account's bill, and may serve only names that are registered for it: the
    /// provider is measured in the background at intervals only.
    package let isBilled: Bool
    /// Price of 1,000 questions, in the operator's unit; nil: none is known.
    package let price: Double?
    /// The provider may get comparison questions of the audit.
    package let mayCompare: Bool
    /// The provider may be asked because another one is late, before that one fails.
    package let mayHedge: Bool
    /// Timeout of one request, connection setup included.
    package let timeout: Duration

    package init(
        id: RankedID, types: Types, maxNames: Int = 1, asksBothFamilies: Bool = false, parallelRequests: Int = 100,
        budgetPerSecond: Int = 100, questionsPerSecond: Int? = nil, whenUsedUp: WhenUsedUp = .next,
        shadowShare: Double? = nil, filters: Bool = false, verifies: Bool = true, hasOwnNames: Bool = false,
        carriesAliases: Bool = true, carriesDNSSEC: Bool = false, isBilled: Bool = false, price: Double? = nil,
        mayCompare: Bool = true,
        mayHedge: Bool = true, timeout: Duration = Bounds.providerTimeout
    ) {
        self.id = id
        self.types = types
        self.maxNames = maxNames
        self.asksBothFamilies = asksBothFamilies
        self.parallelRequests = parallelRequests
        self.budgetPerSecond = budgetPerSecond
        self.questionsPerSecond = questionsPerSecond
        self.whenUsedUp = whenUsedUp
        self.shadowShare = shadowShare
        self.filters = filters
        self.verifies = verifies
        self.hasOwnNames = hasOwnNames || id.provider == nil
        self.carriesAliases = carriesAliases
        self.carriesDNSSEC = carriesDNSSEC || id.provider == nil
        self.isBilled = isBilled
        self.price = price
        self.mayCompare = mayCompare
        self.mayHedge = mayHedge
        self.timeout = timeout
    }

    var isShadow: Bool { shadowShare != nil }

    /// The audit asks the provider comparison questions: the settings allow it, and no budget limits its questions. A
    /// shadow is compared anyway.
    var isAudited: Bool { mayCompare && questionsPerSecond == nil && !isShadow }

    func supports(_ kind: QuestionKind) -> Bool { (carriesDNSSEC || !kind.needsDNSSEC) && supports(kind.type) }

    private func supports(_ type: RecordType) -> Bool {
        switch types {
        case .a: type == .a
        case .addresses: type.isAddress
        case .listed(let types): types.contains(type)
        case .any: true
        }
    }
}
