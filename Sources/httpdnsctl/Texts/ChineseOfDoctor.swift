// The texts of `httpdnsctl doctor` in Chinese: pairs of lines, the English template and its translation. A line that
// ends with a backslash goes on in the next one.

let chineseOfDoctor = """
    fault
    故障
    warning
    警告
    note
    提示
    %1: %2: %3; remedy: %4
    %1：%2：%3。处理办法：%4
    found no problem; checked: %1
    没有发现问题。已检查：%1
    checked: %1
    已检查：%1
    httpdnsctl: waiting for %1
    httpdnsctl：正在等待 %1
    %1 over %2
    %1（%2）
    %1 and %2 more
    %1 等，另有 %2 个

    settings
    设置
    daemon
    守护进程
    port 53
    53 端口
    clock
    时钟
    CA store
    CA 证书库
    key exchange
    密钥交换
    providers
    服务商
    nameservers
    域名服务器
    fleet
    机群
    UDP fragments
    UDP 分片
    receive buffers
    接收缓冲区
    files
    文件
    container
    容器
    rewriters
    改写 resolv.conf 的程序

    %1: can't be read: %2
    无法读取 %1：%2
    httpdnsd --check --config %1 shows all
    运行 httpdnsd --check --config %1 可查看全部错误
    httpdnsd --check --config %1 shows all (%2 more)
    运行 httpdnsd --check --config %1 可查看全部错误（另有 %2 条）
    OpenSSL %1 has no post-quantum key exchange (X25519MLKEM768)
    OpenSSL %1 不支持抗量子的密钥交换（X25519MLKEM768）
    a system with OpenSSL 3.5 or later, such as Debian 13
    使用带有 OpenSSL 3.5 或更新版本的系统，例如 Debian 13
    net.core.rmem_max is %1, the daemon asks for %2
    net.core.rmem_max 为 %1，守护进程需要 %2
    net.core.rmem_max is %1, the daemon asks for %2; queries dropped because a buffer was full: %3
    net.core.rmem_max 为 %1，守护进程需要 %2；因缓冲区已满而丢弃的查询数：%3
    port %1 is not permitted: the container has no NET_BIND_SERVICE
    不允许使用 %1 端口：容器没有 NET_BIND_SERVICE 权限
    docker run --cap-add NET_BIND_SERVICE (cap_add in a compose file); or a port from %1 up, published as 53
    使用 docker run --cap-add NET_BIND_SERVICE（compose 文件中为 cap_add）；或者改用 %1 及以上的端口，再发布为 53 端口
    in %1, which mounts resolv.conf and creates it at each start
    运行在 %1 中，它会挂载 resolv.conf，并在每次启动时重新生成该文件
    set the nameserver outside (docker run --dns)
    在容器外设置域名服务器（docker run --dns）

    the daemon listens at %1: resolv.conf names no ports
    守护进程监听 %1，而 resolv.conf 不能指定端口
    server.listen = ["127.0.0.1:53", "[::1]:53"] in the settings
    在设置中写入 server.listen = ["127.0.0.1:53", "[::1]:53"]
    %1: another program answers, although the daemon holds the port
    %1：端口由守护进程占用，应答的却是另一个程序
    a firewall redirects port 53: nft list ruleset | grep -E 'redirect|dnat', and iptables -t nat -S; remove that rule
    防火墙重定向了 53 端口：用 nft list ruleset | grep -E 'redirect|dnat' 和 iptables -t nat -S 找到该规则并删除
    %1: held by %2
    %1：已被 %2 占用
    %1: held by another program that answers there
    %1：已被另一个程序占用，由它应答查询
    httpdnsctl system use configures both to run together; or DNSStubListener=no in resolved.conf
    运行 httpdnsctl system use 可让两者同时运行；或者在 resolved.conf 中设置 DNSStubListener=no
    systemctl disable --now dnsmasq; libvirt's uses only its bridge: listen on 127.0.0.1, not 0.0.0.0
    运行 systemctl disable --now dnsmasq；libvirt 的 dnsmasq 只使用自己的网桥，此时应监听 127.0.0.1，不要监听 0.0.0.0
    systemctl disable --now %1; or another address in server.listen, such as 127.0.0.2:53
    运行 systemctl disable --now %1；或者在 server.listen 中换一个地址，例如 127.0.0.2:53
    docker ps --filter publish=53 shows the container; publish it on another address, or stop it
    用 docker ps --filter publish=53 找到该容器，改为发布到其他地址，或者停止它
    systemctl list-sockets shows the socket unit; systemctl disable --now UNIT.socket
    用 systemctl list-sockets 找到该 socket 单元，再运行 systemctl disable --now UNIT.socket
    stop it, or set another address in server.listen, such as 127.0.0.2:53
    停止该程序，或者在 server.listen 中换一个地址，例如 127.0.0.2:53

    server.allow has no loopback network: programs of this machine are refused
    server.allow 中没有环回网段，本机程序的查询会被拒绝
    add "127.0.0.0/8" and "::1/128" to allow under [server]; then systemctl restart httpdnsd
    在 [server] 的 allow 中加入 "127.0.0.0/8" 和 "::1/128"，然后运行 systemctl restart httpdnsd
    another httpdnsd answers at this daemon's addresses: it has counted 1 query less than were answered
    另一个 httpdnsd 在本守护进程的监听地址上应答：本守护进程的查询计数比收到的应答少 1
    another httpdnsd answers at this daemon's addresses: it has counted %1 queries less than were answered
    另一个 httpdnsd 在本守护进程的监听地址上应答：本守护进程的查询计数比收到的应答少 %1
    the nameserver %1 forwards queries back to the daemon; not used
    域名服务器 %1 把查询转发回守护进程，因此不使用它
    configure another upstream there, or another nameserver under [system-resolver]
    在该服务器上配置其他上游，或者在 [system-resolver] 中换一个域名服务器
    %1 waits for an address of its host name: no nameserver and no other provider has one
    %1 还没有得到其主机名的地址：所有域名服务器和其他服务商都解析不出来
    dig the name at a nameserver of this network, or set addresses of the provider
    用 dig 向本网络的域名服务器查询该主机名，或者为该服务商设置 addresses
    %1 gives the daemon no usable replies: unreachable, or wrong account or key
    %1 没有给守护进程返回可用的应答：可能无法连接，或者账号、密钥有误
    httpdnsctl providers test %1 shows its reply, and the daemon's log the reason
    用 httpdnsctl providers test %1 查看它的应答，原因见守护进程的日志
    %1 gives the daemon no answers: its names fail
    %1 没有给守护进程返回应答，由它负责的域名解析失败
    httpdnsctl stats shows the failures, and the daemon's log the reason
    用 httpdnsctl stats 查看失败次数，原因见守护进程的日志
    nftables set %1 gets no addresses: %2
    nftables 集合 %1 没有写入地址：%2
    without the helper: systemctl enable --now httpdnsd-nftset.socket; otherwise as it says
    如果辅助程序没有运行，执行 systemctl enable --now httpdnsd-nftset.socket；否则按上述原因处理
    the daemon does without a file as it is now: %1
    守护进程没有采用某个文件的当前内容：%1
    repair it; httpdnsctl status shows what is in force
    修正该文件；用 httpdnsctl status 查看当前生效的内容
    a captive portal is suspected: %1
    疑似存在强制门户：%1
    open http://example.com in a browser and sign in to the network
    用浏览器打开 http://example.com，登录网络
    provider %1 is over its quota, and is not asked until the period ends: %2 questions are billed of the quota %3
    服务商 %1 已超出配额，在本周期结束前不再向它查询：配额 %3，已计费 %2 次查询
    provider %1 has used 80 % of its quota: %2 questions are billed of the quota %3
    服务商 %1 的配额已用 80 %：配额 %3，已计费 %2 次查询
    httpdnsctl providers shows what caused them; buy more, raise quota in the settings, or give the provider names
    用 httpdnsctl providers 查看计费来源；可以购买更多配额、调高设置中的 quota，或者只把部分域名交给该服务商
    providers are switched off for some or all names
    部分或全部域名已停用服务商
    httpdnsctl status shows the names; httpdnsctl httpdns on
    用 httpdnsctl status 查看这些域名；用 httpdnsctl httpdns on 重新启用
    a program holds %1, but answers neither there nor to queries
    有程序占用 %1，但它既不应答该套接字，也不应答 DNS 查询
    does not run: no answer at %1 nor at its listen addresses
    没有运行：%1 和各监听地址都没有应答
    does not run: no answer at its listen addresses (control.socket is off)
    没有运行：各监听地址都没有应答（control.socket 已关闭）
    systemctl start httpdnsd (journalctl -u httpdnsd shows why it ended); if resolv.conf names it, httpdnsctl system \
    restore makes names resolve without it
    运行 systemctl start httpdnsd（用 journalctl -u httpdnsd 查看退出原因）；如果 resolv.conf 指向它，运行 \
    httpdnsctl system restore 可在没有它的情况下恢复域名解析
    not checked, because a query would start it: httpdnsd.socket listens for it
    未检查，因为查询会启动它：目前由 httpdnsd.socket 代为监听
    systemctl start httpdnsd, and run doctor again
    运行 systemctl start httpdnsd，然后重新运行 doctor
    this user can't open %1
    当前用户无法打开 %1
    run httpdnsctl doctor as root
    以 root 身份运行 httpdnsctl doctor
    answers queries, but not at %1 (%2)
    能应答查询，但 %1 没有应答（%2）
    httpdnsctl --socket PATH doctor, with control.socket of the settings
    运行 httpdnsctl --socket PATH doctor，其中 PATH 为设置中的 control.socket
    answers queries, but sends nothing at %1
    能应答查询，但 %1 没有返回任何内容
    %1 over %2: no interface has the address
    %1（%2）：没有网络接口具有该地址
    none needed if it comes later; or remove it from server.listen or httpdnsd.socket
    如果该地址稍后才会出现，则无需处理；否则从 server.listen 或 httpdnsd.socket 中删除它
    no answer
    没有应答
    can't be queried: %1
    无法发送查询：%1
    connection refused
    连接被拒绝
    %1 over %2: %3
    %1（%2）：%3
    allow traffic on lo in the firewall (nft list ruleset); else systemctl restart httpdnsd
    在防火墙中放行 lo 接口的流量（nft list ruleset）；如果不是防火墙的问题，运行 systemctl restart httpdnsd

    no answers are shared with the fleet: Redis at %1: %2
    没有与机群共享应答：位于 %1 的 Redis：%2
    redis-cli with the same server, user and password should answer GET h1:t; see A FLEET in httpdnsd(8) for the \
    rights that the user needs
    用 redis-cli 以相同的服务器、用户和密码执行 GET h1:t，应能得到应答；该用户所需的权限见 httpdnsd(8) 的“机群”（A FLEET）一节
    other settings than this machine, in site %1: %2; they may not share its answers
    站点 %1 中有成员的设置与本机不同：%2；它们可能无法与本机共享应答
    compare httpdnsd --print-effective and httpdnsctl rule ls there and here
    在两边分别运行 httpdnsd --print-effective 和 httpdnsctl rule ls，比较结果
    the members could not be read from Redis at %1: %2
    无法从位于 %1 的 Redis 读取成员列表：%2
    httpdnsctl fleet reads them again; see A FLEET in httpdnsd(8) for the rights that it needs
    运行 httpdnsctl fleet 可重新读取；所需权限见 httpdnsd(8) 的“机群”（A FLEET）一节
    Redis at %1 has no memory limit and may use all memory of its machine
    位于 %1 的 Redis 没有内存上限，可能耗尽所在机器的内存
    redis-cli CONFIG SET maxmemory 256mb, and the same in the file of its settings; an entry takes about 460 bytes
    运行 redis-cli CONFIG SET maxmemory 256mb，并在其配置文件中做相同设置；每个条目约占 460 字节
    it refuses answers when its memory is full
    内存用满后会拒绝写入应答
    it may remove the list of flushes, which members that were away need
    可能删除缓存清除记录，而离线后恢复的成员需要这些记录
    Redis at %1 has maxmemory-policy %2: %3
    位于 %1 的 Redis 的 maxmemory-policy 为 %2：%3
    redis-cli CONFIG SET maxmemory-policy volatile-ttl, and the same in the file of its settings
    运行 redis-cli CONFIG SET maxmemory-policy volatile-ttl，并在其配置文件中做相同设置
    the daemon's user of Redis at %1 may do more than it needs: %2
    守护进程在位于 %1 的 Redis 中使用的用户拥有多余的权限：%2
    give it the rights in %1/httpdnsd.acl only, after ACL SETUSER httpdnsd reset; see A FLEET in httpdnsd(8)
    先执行 ACL SETUSER httpdnsd reset，再只授予 %1/httpdnsd.acl 中的权限；见 httpdnsd(8) 的“机群”（A FLEET）一节

    is missing: programs query only 127.0.0.1
    文件不存在：程序只查询 127.0.0.1
    httpdnsctl system use
    运行 httpdnsctl system use
    is a link to %1, which does not exist
    是指向 %1 的符号链接，而 %1 不存在
    start the program that writes that file, or rm /etc/resolv.conf and %1
    启动负责写入该文件的程序；或者先执行 rm /etc/resolv.conf，再%1
    is readable only for root: other users find no nameserver
    只有 root 可以读取，其他用户找不到域名服务器
    has lines that end with CR LF, as on Windows: programs ignore their nameservers
    含有以 CR LF 结尾的行（Windows 格式）：程序会忽略这些行中的域名服务器
    has nameservers that are no addresses: %1
    含有不是 IP 地址的 nameserver：%1
    a nameserver line takes one address, without port
    每个 nameserver 行只能写一个地址，不带端口
    names %1 nameservers: programs read the first %2
    写有 %1 个域名服务器，而程序只读取前 %2 个
    remove the rest; the daemon alone is enough
    删除多余的行；只保留守护进程即可
    names %1 before the daemon: programs query the daemon only if %2 is silent
    %1 排在守护进程之前：只有 %2 没有应答时，程序才会查询守护进程
    leave the daemon as the only nameserver: %1
    只保留守护进程作为域名服务器：%1
    names %1 in addition to the daemon: programs query these, too, if an answer is late
    除守护进程外还写有 %1：应答较慢时，程序也会查询它们
    has options that the daemon does not follow: %1
    含有守护进程不支持的选项：%1
    none is needed: other programs still follow them
    无需处理：其他程序仍会使用这些选项
    names only the daemon, and no file has another nameserver: the daemon has no system resolver
    只写有守护进程，而且其他文件中也没有别的域名服务器：守护进程没有可用的系统解析器
    servers = ["ADDRESS"] under [system-resolver] in the settings, with the network's nameserver
    在设置的 [system-resolver] 中写入 servers = ["ADDRESS"]，ADDRESS 为本网络的域名服务器
    was set to the daemon and has been rewritten since: it names no nameserver
    曾指向守护进程，之后又被改写：现在没有域名服务器
    was set to the daemon and has been rewritten since: it names %1
    曾指向守护进程，之后又被改写：现在指向 %1
    %1, which shows the program that writes the file
    %1，它会显示是哪个程序改写了该文件
    names no nameserver: programs query 127.0.0.1
    没有写域名服务器：程序会查询 127.0.0.1
    names 127.0.0.11, Docker's own resolver: programs do not use the daemon
    指向 Docker 自带的解析器 127.0.0.11：程序没有使用守护进程
    run the container with --dns %1, or dns: in the compose file
    启动容器时使用 --dns %1，或者在 compose 文件中设置 dns:
    names systemd-resolved (%1), which does not use the daemon
    指向 systemd-resolved（%1），而它没有使用守护进程
    names %1, not the daemon: programs do not use it
    指向 %1 而不是守护进程：程序没有使用守护进程
    %1; first run chattr -i /etc/resolv.conf, because the file is immutable
    %1；该文件不可修改，需先执行 chattr -i /etc/resolv.conf
    %1; it is mounted from the host: set the nameserver there (docker run --dns)
    %1；该文件从宿主机挂载，应在宿主机上设置域名服务器（docker run --dns）

    hosts: files dns in /etc/nsswitch.conf
    在 /etc/nsswitch.conf 中写入 hosts: files dns
    /etc/nsswitch.conf is missing: programs use their built-in lookup order
    /etc/nsswitch.conf 不存在：程序使用内置的查找顺序
    there is no hosts line: programs use their built-in lookup order
    没有 hosts 行：程序使用内置的查找顺序
    %1: without dns, programs do not query a nameserver
    %1：没有 dns，程序不会查询域名服务器
    %1: dns comes before files, so DNS overrides /etc/hosts
    %1：dns 排在 files 之前，DNS 应答会覆盖 /etc/hosts
    programs use systemd-resolved and not resolv.conf (resolve comes before dns)
    程序使用 systemd-resolved 而不是 resolv.conf（resolve 排在 dns 之前）
    httpdnsctl system use, which makes systemd-resolved use the daemon; or %1
    运行 httpdnsctl system use，让 systemd-resolved 使用守护进程；或者%1
    %1 ends the search with [NOTFOUND=return]: dns is not reached
    %1 以 [NOTFOUND=return] 结束查找，不会再使用 dns

    timedatectl set-ntp true; or date -u -s 'YYYY-MM-DD hh:mm', then hwclock --systohc
    运行 timedatectl set-ntp true；或者先执行 date -u -s 'YYYY-MM-DD hh:mm'，再执行 hwclock --systohc
    says %1, before this release (%2)
    显示为 %1，早于本版本的发布日期（%2）
    says %1, and the certificates of all providers are not valid yet
    显示为 %1，而所有服务商的证书都尚未生效
    says %1, and the certificates of all providers have expired
    显示为 %1，而所有服务商的证书都已过期
    not synchronised (the kernel reports unsynchronised)
    没有同步（内核报告为未同步）
    /etc/ssl/certs/ca-certificates.crt %1: no TLS certificate can be verified (%2)
    /etc/ssl/certs/ca-certificates.crt %1：无法验证任何 TLS 证书（%2）
    put a PEM file there that the daemon can read, or remove %1 from the settings
    在该路径放置守护进程可读取的 PEM 文件，或者从设置中删除 %1
    does not exist
    不存在
    holds no certificate
    不含证书
    can't be read: %1
    无法读取：%1
    ca-file of provider %1
    服务商 %1 的 ca-file

    provider %1 at %2
    服务商 %1（%2）
    the handshake was cut short
    握手被中断
    no handshake: %1
    握手失败：%1
    the peer does not speak TLS
    对端不支持 TLS
    there is no %1 route to %2
    没有通往 %2 的 %1 路由
    none needed: the other address family is used
    无需处理：会使用另一种地址族
    %1; add a default route through a gateway that answers
    运行 %1 查看路由；添加一条经可用网关的默认路由
    %1: only the connection to the proxy was tested
    %1：只测试了与代理的连接
    httpdnsctl providers test NAME tests through the proxy
    运行 httpdnsctl providers test NAME 可经代理测试
    addresses not tested, because there are too many: %1
    地址过多，未测试的地址数：%1
    httpdnsctl providers test NAME tests those of one provider
    运行 httpdnsctl providers test NAME 可测试某个服务商的地址
    %1 at %2 (%3): %4
    %1 的 %2（%3）：%4
    another address or provider in the settings
    在设置中换用其他地址或服务商
    a firewall rejects it, or the address is outdated: use %1
    被防火墙拒绝，或者地址已失效：请%1
    connection timed out
    连接超时
    a firewall drops it, or the address is outdated: use %1
    被防火墙丢弃，或者地址已失效：请%1
    connected, but no TLS reply
    已建立连接，但没有 TLS 应答
    a middlebox may drop TLS: try another network, or use %1
    可能有中间设备丢弃了 TLS 流量：换一个网络再试，或者%1
    curl -v --connect-to ::%1 with the provider's URL shows more
    用 curl -v --connect-to ::%1 访问该服务商的 URL，可查看详情
    certificate by %1: %2
    由 %1 签发的证书：%2
    TLS is intercepted (captive portal, proxy), or ca-file must contain that authority
    TLS 被拦截（强制门户或代理），或者 ca-file 中缺少该证书颁发机构
    the certificate is for %1
    证书属于 %1
    TLS is intercepted, or the address is reassigned: try another network, or use %1
    TLS 被拦截，或者该地址已改作他用：换一个网络再试，或者%1
    certificate valid from %1 to %2, not now
    证书的有效期为 %1 至 %2，现在无效
    check this machine's clock (date -u); if it is right, the provider must renew
    检查本机时钟（date -u）；如果时钟正确，需由服务商更新证书
    the connection was closed without an answer
    连接被关闭，没有应答
    the reply does not match the query
    应答与查询不符

    %1 of nameserver %2
    %1（属于 nameserver %2）
    %1 forwards queries to the daemon: its names fail
    %1 把查询转发给守护进程，由它负责的域名解析失败
    let it answer its names itself, or remove it from servers
    让它自行应答这些域名，或者从 servers 中删除它
    %1 refuses to answer this machine
    %1 拒绝应答本机
    allow this machine in its access list, or remove it from servers
    在它的访问列表中放行本机，或者从 servers 中删除它
    %1 does not answer (%2)
    %1 没有应答（%2）
    connect its network, or remove it from servers
    连接它所在的网络，或者从 servers 中删除它
    %1 does not answer over %2 (%3)
    %1 没有应答 %2 查询（%3）
    allow port 53 over %1 in the firewall
    在防火墙中放行 %1 的 53 端口
    use another nameserver, or set servers = [...] under [system-resolver]
    换用其他域名服务器，或者在 [system-resolver] 中设置 servers = [...]
    allow this machine in its access list, or %1
    在它的访问列表中放行本机；或者%1
    %1 fails (SERVFAIL): it can't reach its own upstreams
    %1 解析失败（SERVFAIL）：它无法连接自己的上游
    %1 does not answer over TCP (%2): long answers fail
    %1 没有应答 TCP 查询（%2），较长的应答会失败
    allow TCP port 53 in the firewall, or %1
    在防火墙中放行 TCP 53 端口；或者%1
    %1 answers over TCP only (UDP: %2)
    %1 只应答 TCP 查询（UDP：%2）
    allow UDP port 53 in the firewall, or %1
    在防火墙中放行 UDP 53 端口；或者%1
    long answers of %1 over UDP are lost, short ones and TCP arrive
    %1 较长的 UDP 应答会丢失，较短的应答和 TCP 应答正常
    allow fragments in the firewall; or limit that nameserver's responses to 1232 bytes (unbound: \
    edns-buffer-size: 1232)
    在防火墙中放行分片；或者把该域名服务器的应答限制为 1232 字节（unbound 中为 edns-buffer-size: 1232）
    answered
    已应答
    silence
    没有回复
    no route
    没有路由

    a public IPv6 address but no default route: IPv6 connections of programs fail or time out
    有公网 IPv6 地址，但没有默认路由：程序的 IPv6 连接会失败或超时
    ip -6 route; accept router advertisements (accept_ra), or remove the address
    用 ip -6 route 查看路由；接受路由器通告（accept_ra），或者删除该地址
    an IPv6 default route but no global address
    有 IPv6 默认路由，但没有全局地址
    ip -6 addr; filter-aaaa = "no-route" under [server] stops programs from trying IPv6
    用 ip -6 addr 查看地址；在 [server] 中设置 filter-aaaa = "no-route"，可让程序不再尝试 IPv6
    no provider answers over IPv6, but some do over IPv4: IPv6 packets are lost
    服务商在 IPv6 上都没有应答，而在 IPv4 上有应答：IPv6 数据包丢失
    repair the router's IPv6, or turn it off: sysctl net.ipv6.conf.all.disable_ipv6=1
    修复路由器的 IPv6；或者停用 IPv6：sysctl net.ipv6.conf.all.disable_ipv6=1

    hosts file
    hosts 文件
    %1 of %2
    %2 的 %1
    names-file of %1
    %1 的 names-file
    server.user is %1, but this user does not exist
    server.user 为 %1，但该用户不存在
    systemd-sysusers creates httpdnsd; adduser --system --group --no-create-home %1
    用 systemd-sysusers 创建用户 httpdnsd；其他用户：adduser --system --group --no-create-home %1
    %1 (%2) is accessible to all users
    所有用户都能访问 %1（%2）
    %1 MiB are free for %2
    %2 的可用空间只剩 %1 MiB
    df -h %1; free some space
    用 df -h %1 查看空间，并清理磁盘
    %1 (%2) does not exist
    %1（%2）不存在
    create it, or remove it from the settings
    创建该文件，或者从设置中删除它
    put the account's key there: install -m 400 -o %1 KEYFILE %2
    把账号的密钥放到该路径：install -m 400 -o %1 KEYFILE %2
    %1 can't search %2 to reach %3
    %1 无法进入目录 %2，因此访问不到 %3
    %1 can't be read by %2
    %2 无法读取 %1
    %1 (%2) can't be read by %3
    %3 无法读取 %1（%2）
    %1 can't write into %2 (%3)
    %1 无法在 %2（%3）中写入
    %1 can't write to %2 (%3)
    %1 无法写入 %2（%3）

    %1 will write resolv.conf again %2
    %1 会%2再次写入 resolv.conf
    when the network changes
    在网络变化时
    at the next lease
    在下次获取租约时
    at the next start
    在下次启动时
    at each start
    在每次启动时
    httpdnsctl system use, which turns this off; or rc-manager=unmanaged in its settings
    运行 httpdnsctl system use 可关闭这一行为；或者在其配置中设置 rc-manager=unmanaged
    add to /etc/dhcp/dhclient.conf: supersede domain-name-servers 127.0.0.1;
    在 /etc/dhcp/dhclient.conf 中加入：supersede domain-name-servers 127.0.0.1;
    add to /etc/dhcpcd.conf: nohook resolv.conf
    在 /etc/dhcpcd.conf 中加入：nohook resolv.conf
    put into /etc/cloud/cloud.cfg.d/99-httpdnsd.cfg: manage_resolv_conf: false
    在 /etc/cloud/cloud.cfg.d/99-httpdnsd.cfg 中写入：manage_resolv_conf: false
    add to /etc/wsl.conf: [network] generateResolvConf=false; then wsl --shutdown
    在 /etc/wsl.conf 中加入：[network] generateResolvConf=false；然后运行 wsl --shutdown
    """
