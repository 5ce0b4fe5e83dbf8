// The one call that a miss makes. Redis runs it as a whole, so that of all members that miss an entry at the same time
// exactly one gets its lease.

package import DNSWire

package enum LeaseScript {
    /// KEYS: lease, waiters, and the entry for each of the fleet's keys. ARGV: the member's token, the lease in
    /// milliseconds, the least life of an answer and its greatest age in milliseconds, the member's channel.
    ///
    /// Returns an array: 1, number of the key, value, remaining life in milliseconds; 2 for a lease that is the
    /// member's now; 3, remaining time of another member's lease in milliseconds. Then its answer comes to the channel.
    ///
    /// Only Redis's clock counts: a value lives as long as Redis keeps it, and is as old as the part of its original
    /// TTL that has passed.
    package static let text = """
        for number = 3, #KEYS do
          local left = redis.call('PTTL', KEYS[number])
          if left >= tonumber(ARGV[3]) and left > 0 then
            local value = redis.call('GET', KEYS[number])
            local a, b, c, d = string.byte(value, 6, 9)
            local life = d and (((a * 256 + b) * 256 + c) * 256 + d) * 1000 or 0
            if life - left <= tonumber(ARGV[4]) then return {1, number - 2, value, left} end
          end
        end
        if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return {2} end
        redis.call('SADD', KEYS[2], ARGV[5])
        redis.call('PEXPIRE', KEYS[2], 2 * ARGV[2])
        return {3, redis.call('PTTL', KEYS[1])}
        """

    /// KEYS: lease, waiters, entry. ARGV: the value, its life in milliseconds, the member's token. Stores an answer,
    /// sends it to the members that wait for it, and ends the lease if it is still this member's.
    package static let publication = """
        redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
        if redis.call('GET', KEYS[1]) == ARGV[3] then redis.call('DEL', KEYS[1]) end
        local message = KEYS[3] .. ' ' .. ARGV[2] .. ' ' .. ARGV[1]
        for _, channel in ipairs(redis.call('SMEMBERS', KEYS[2])) do redis.call('PUBLISH', channel, message) end
        redis.call('DEL', KEYS[2])
        """

    /// KEYS: lease, waiters, entry. ARGV: the member's token, and whether `one` of those that wait is told, or `all`.
    /// Ends the lease without an answer, if it is still this member's. Without a lease, they are told in any case.
    package static let release = """
        local owner = redis.call('GET', KEYS[1])
        if owner and owner ~= ARGV[1] then return end
        redis.call('DEL', KEYS[1])
        local channels = {}
        if ARGV[2] == 'all' then
          channels = redis.call('SMEMBERS', KEYS[2])
          redis.call('DEL', KEYS[2])
        else
          channels[1] = redis.call('SPOP', KEYS[2]) or nil
        end
        for _, channel in ipairs(channels) do redis.call('PUBLISH', channel, KEYS[3] .. ' ' .. ARGV[2]) end
        """

    /// KEYS: the stream of flushes, the channel of flushes. ARGV: an order.
    package static let flush = """
        redis.call('XADD', KEYS[1], 'MAXLEN', \(Flushes.maxCount), '*', 'order', ARGV[1])
        redis.call('PUBLISH', KEYS[2], '')
        """

    /// KEYS: the stream of flushes. ARGV: the first element wanted. Returns an array: the time in milliseconds by
    /// Redis's clock, by which the elements are numbered, and the elements.
    package static let flushes = """
        local time = redis.call('TIME')
        return {time[1] * 1000 + math.floor(time[2] / 1000), redis.call('XRANGE', KEYS[1], ARGV[1], '+')}
        """

    /// Lease of a lookup: twice the time in which the provider answers 95 % of all requests.
    package static func life(usual95: Duration?) -> Duration {
        min(max((usual95 ?? .milliseconds(500)) * 2, .milliseconds(300)), .milliseconds(1500))
    }
}
