// The calls to Redis, as scripts. Redis runs each as a whole, so that of all members that miss an entry at the same
// time exactly one gets its lease, and the pace of a provider is kept by all together.

import DNSWire

package enum FleetScript: Int, CaseIterable, Sendable {
    case lease, pace, turnBack, publication, release, flush, flushes, evidence, presence, members, billing

    package var text: String {
        switch self {
        case .lease: FleetScript.time + FleetScript.paceFunction + FleetScript.leaseText
        case .pace: FleetScript.time + FleetScript.paceFunction + FleetScript.paceText
        case .turnBack: FleetScript.time + FleetScript.paceFunction + FleetScript.turnBackText
        case .publication: FleetScript.publicationText
        case .release: FleetScript.releaseText
        case .flush: FleetScript.flushText
        case .flushes: FleetScript.time + FleetScript.flushesText
        case .evidence: "for _, key in ipairs(KEYS) do redis.call('PUBLISH', key, ARGV[1]) end\n"
        case .presence: FleetScript.time + FleetScript.presenceText
        case .members: FleetScript.time + FleetScript.membersText
        case .billing: FleetScript.time + FleetScript.billingText
        }
    }

    /// Replies of a script with this text begin with `now`, in milliseconds.
    private static let time = """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)

        """

    // A key may hold anything that another program has put there. Such a value is read as if it were missing, and
    // overwritten.

    /// `Pace` for all members, in microseconds. A key has the time of the next turn, and the times of turns that were
    /// given back. With two keys of the fleet, both names have the same text; the one with the later time counts.
    ///
    /// `pace` returns true and the time that the request has to wait; or false and the time after which such a wait
    /// would be short enough.
    private static let paceFunction = """
        local micros = time[1] * 1000000 + time[2]

        local function turns(keys, interval)
          local next, free = micros, {}
          for _, key in ipairs(keys) do
            local text, own, given = redis.pcall('GET', key), nil, {}
            for word in string.gmatch(type(text) == 'string' and text or '', '%S+') do
              local number = tonumber(word)
              if not own then
                own = number
                if not (own and own > next and own <= micros + \(mostDebt) + interval) then break end
              elseif number and number >= micros and number < own and #given < \(Pace.maxFree) then
                given[#given + 1] = number
              end
            end
            if own and own > next and own <= micros + \(mostDebt) + interval then next, free = own, given end
          end
          return next, free
        end

        local function keep(keys, next, free)
          local words = {string.format('%.0f', next)}
          for number, turn in ipairs(free) do words[number + 1] = string.format('%.0f', turn) end
          for _, key in ipairs(keys) do
            redis.call('SET', key, table.concat(words, ' '), 'PX', \(mostDebt / 1000 + 1000))
          end
        end

        local function pace(keys, interval, longest)
          local next, free = turns(keys, interval)
          local first
          for number, turn in ipairs(free) do
            if turn - micros <= longest and (not first or turn < free[first]) then first = number end
          end
          local at
          if first then
            at = table.remove(free, first)
          else
            at = math.min(next, micros + \(mostDebt))
            if at - micros > longest then return false, at - micros - longest end
            next = at + interval
          end
          keep(keys, next, free)
          return true, at - micros
        end

        """

    private static let mostDebt = Pace.mostDebt.wholeMicroseconds

    /// KEYS: lease, waiters, demand, then pace and then entry for each of the fleet's keys. ARGV: the member's token,
    /// the lease in milliseconds (0: leases are not shared), the least life of an answer and its greatest age in
    /// milliseconds, the member's channel, thousandths of the queries that the member had since its last call, the
    /// interval of the pace (0: none) and the longest wait for it, both in microseconds, and the tokens of members
    /// whose leases do not count.
    ///
    /// Returns an array: kind, `now`, millionths of queries per second of the fleet, and
    /// - kind 1, an answer: number of the key, value, remaining life in milliseconds.
    /// - kind 2, the member has the lease now: microseconds to wait before the request.
    /// - kind 3, another member has the lease: its remaining milliseconds, that member's token. Its answer is sent to
    ///   the channel.
    /// - kind 4, the request is deferred: microseconds until the pace allows it.
    ///
    /// Only Redis's clock counts: Redis ends the life of a value, and the value has the time when it was put.
    private static let leaseText = """
        local asks, seconds, at = 0, 0, now
        local stored = redis.pcall('GET', KEYS[3])
        if type(stored) == 'string' and #stored == 24 then asks, seconds, at = struct.unpack('>ddd', stored) end
        if not (asks >= 0 and asks < 1e9 and seconds >= 0 and seconds < 1e9 and at <= now) then
          asks, seconds, at = 0, 0, now
        end
        local passed = math.max(0, now - at) / 1000
        local decay = 0.5 ^ (passed / \(memorySeconds))
        asks, seconds = asks * decay + ARGV[6] / 1000, (seconds + passed) * decay
        redis.call('SET', KEYS[3], struct.pack('>ddd', asks, seconds, now), 'PX', \(memorySeconds)000)
        local demand = math.floor(asks / (seconds + \(presumedSeconds)) * 1000000)
        local count = (#KEYS - 3) / 2
        for number = 4 + count, #KEYS do
          local left = redis.call('PTTL', KEYS[number])
          if left >= tonumber(ARGV[3]) and left > 0 then
            local value, put = redis.pcall('GET', KEYS[number]), 0
            if type(value) == 'string' then
              for place = 6, 11 do put = put * 256 + (string.byte(value, place) or 0) end
              if now - put <= tonumber(ARGV[4]) then return {1, now, demand, number - 3 - count, value, left} end
            end
          end
        end
        local left = redis.call('PTTL', KEYS[1])
        local owner = redis.pcall('GET', KEYS[1])
        if type(owner) ~= 'string' or #owner > 64 then owner = '' end
        local counts = owner == '' or not string.find(' ' .. ARGV[9] .. ' ', ' ' .. owner .. ' ', 1, true)
        if ARGV[2] ~= '0' and left > 0 and left <= \(longestLease) and counts then
          redis.pcall('SADD', KEYS[2], ARGV[5])
          redis.call('PEXPIRE', KEYS[2], 2 * math.max(left, ARGV[2]))
          return {3, now, demand, left, owner}
        end
        local wait = 0
        if ARGV[7] ~= '0' then
          local paces, goes = {}
          for number = 1, count do paces[number] = KEYS[3 + number] end
          goes, wait = pace(paces, tonumber(ARGV[7]), tonumber(ARGV[8]))
          if not goes then return {4, now, demand, wait} end
        end
        if ARGV[2] ~= '0' then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2] + math.floor(wait / 1000)) end
        return {2, now, demand, wait}

        """

    /// The longest lease, with the wait for a turn, in milliseconds. A lease that lasts longer is another program's.
    private static let longestLease = 2000 + Pace.maxWaitOfLastResort.wholeMilliseconds
    /// The same numbers as in the resolver's `Demand`, so that both can be compared.
    private static let (memorySeconds, presumedSeconds) = (600, 20)

    /// KEYS: pace for each of the fleet's keys. ARGV: its interval and the longest wait for it, in microseconds. Paces
    /// a request whose answer is not shared; returns what `lease` does, with kind 2 or 4.
    private static let paceText = """
        local goes, wait = pace(KEYS, tonumber(ARGV[1]), tonumber(ARGV[2]))
        return {goes and 2 or 4, now, 0, wait}

        """

    /// KEYS: pace for each of the fleet's keys. ARGV: its interval and the time of a turn, in microseconds. Gives back
    /// the turn of a request that is not made: another request gets the turn if it is still to come. Members know the
    /// time of a turn to a millisecond.
    private static let turnBackText = """
        local interval, turn = tonumber(ARGV[1]), tonumber(ARGV[2])
        local next, free = turns(KEYS, interval)
        if turn < micros or turn >= next then return end
        if math.abs(turn + interval - next) <= 1000 then
          next = turn
        elseif #free < \(Pace.maxFree) then
          free[#free + 1] = turn
        end
        keep(KEYS, next, free)

        """

    /// KEYS: lease, waiters, entry. ARGV: the value, its life in milliseconds, the member's token. Stores an answer,
    /// sends it to the members that wait for it, and ends the lease if it is still this member's.
    private static let publicationText = """
        redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
        if redis.pcall('GET', KEYS[1]) == ARGV[3] then redis.call('DEL', KEYS[1]) end
        local message = KEYS[3] .. ' ' .. ARGV[2] .. ' ' .. ARGV[1]
        for _, channel in ipairs(redis.pcall('SMEMBERS', KEYS[2])) do redis.pcall('PUBLISH', channel, message) end
        redis.call('DEL', KEYS[2])

        """

    /// KEYS: lease, waiters, entry. ARGV: the member's token, and whether `one` or `all` of the waiting members are
    /// told. Ends the lease without an answer, if it is still this member's. Without a lease, waiting members are told,
    /// too.
    private static let releaseText = """
        local owner = redis.pcall('GET', KEYS[1])
        if type(owner) == 'string' and owner ~= ARGV[1] then return end
        redis.call('DEL', KEYS[1])
        local channels
        if ARGV[2] == 'all' then
          channels = redis.pcall('SMEMBERS', KEYS[2])
          redis.call('DEL', KEYS[2])
        else
          channels = redis.pcall('SPOP', KEYS[2], 1)
        end
        for _, channel in ipairs(channels) do redis.pcall('PUBLISH', channel, KEYS[3] .. ' ' .. ARGV[2]) end

        """

    /// KEYS: for each of the fleet's keys, the stream and the channel of flushes, with one name. ARGV: an order.
    private static let flushText = """
        for _, key in ipairs(KEYS) do
          redis.call('XADD', key, 'MAXLEN', \(FlushAges.maxCount), '*', 'order', ARGV[1])
          redis.call('PUBLISH', key, '')
        end

        """

    /// KEYS: the stream of flushes. ARGV: the first element wanted. Returns an array: `now`, by which the elements are
    /// numbered, and the elements.
    private static let flushesText = """
        return {now, redis.call('XRANGE', KEYS[1], ARGV[1], '+')}

        """

    /// KEYS: the set of members for each of the fleet's keys, then this member's record for each. ARGV: its token, the
    /// life of the records in milliseconds, the records. Returns an array: `now`, the number of members in the first
    /// set.
    private static let presenceText = """
        local count = #KEYS / 2
        for number = 1, count do
          redis.call('ZREMRANGEBYSCORE', KEYS[number], '-inf', now - ARGV[2])
          redis.call('ZADD', KEYS[number], now, ARGV[1])
          redis.call('PEXPIRE', KEYS[number], ARGV[2])
          redis.call('SET', KEYS[count + number], ARGV[2 + number], 'PX', ARGV[2])
        end
        return {now, redis.call('ZCARD', KEYS[1])}

        """

    /// KEYS: the set of members. ARGV: how many, the life of a record, what precedes a token in the name of a record.
    /// Returns an array: `now`, the number of members, tokens, records in the same order, the memory part of INFO, and
    /// commands that the user may run and does not need (Redis 7).
    private static let membersText = """
        local excess, info = {}, ''
        if redis.acl_check_cmd then
          local needless = {{'KEYS', '*'}, {'FLUSHALL'}, {'FLUSHDB'}, {'CONFIG', 'SET', 'maxmemory', '0'}, {'SHUTDOWN'}}
          for _, command in ipairs(needless) do
            if redis.acl_check_cmd(unpack(command)) then excess[#excess + 1] = command[1] end
          end
          if redis.acl_check_cmd('INFO', 'memory') then info = redis.call('INFO', 'memory') end
        end
        redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
        local tokens, records = redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1), {}
        for number, token in ipairs(tokens) do records[number] = redis.call('GET', ARGV[3] .. token) or '' end
        return {now, redis.call('ZCARD', KEYS[1]), tokens, records, info, excess}

        """

    /// KEYS: the sum of an account, for each of the fleet's keys. ARGV: the value that the member has read under the
    /// first one, the life in milliseconds, a new value for each. Returns an array: `now`; 1 if Redis has the new
    /// values, and 0 if it had another value; and that other value, else an empty string.
    private static let billingText = """
        local stored = redis.pcall('GET', KEYS[1])
        if type(stored) ~= 'string' or #stored > \(longestSum) then stored = '' end
        if stored ~= ARGV[1] then return {now, 0, stored} end
        for number, key in ipairs(KEYS) do redis.call('SET', key, ARGV[2 + number], 'PX', ARGV[2]) end
        return {now, 1, ''}

        """

    /// The longest value that is read, in bytes: a sealed sum is shorter.
    private static let longestSum = 200

    /// Returns the lease of a request: twice the 95th percentile of the provider's latency, 0.3 to 1.5 s; 1 s if the
    /// latency was not measured.
    static func lease(usual95: Duration?) -> Duration {
        min(max((usual95 ?? .milliseconds(500)) * 2, .milliseconds(300)), .milliseconds(1500))
    }
}
