// The texts of `httpdnsctl setup` in Chinese, in the form of `chineseOfDoctor`. What both have stands there.

let chineseOfSetup = """
    Four questions. Enter takes the answer in [brackets], and Ctrl-C ends without a change.
    共四个问题。直接按 Enter 采用 [方括号] 中的答案；按 Ctrl-C 退出，不做任何更改。
    %1 [%2]:
    %1 [%2]：
    %1:
    %1：
    Answer
    请回答
    Answer, such as 1 3
    请回答，例如 1 3
    Answer, or another address
    请回答，或者输入其他地址
    yes
    是
    no
    否
    1. Which companies may see the names that are looked up here?
    1. 哪些公司可以看到本机查询的域名？
    Each provider sees the names that it is asked for. With several, a bad one is avoided.
    每个服务商都能看到向它查询的域名。选择多个时，会避开不好用的那个。
    Another provider: paste its https:// URL or its sdns:// stamp.
    使用其他服务商：粘贴它的 https:// URL 或 sdns:// 标识。
    your own account (question 2), or the network's nameservers
    使用自己的账号（第 2 题），或者本网络的域名服务器
    %1, %2; %3
    %1，%2；%3
    %1, %2; %3; sends client subnets
    %1，%2；%3；发送客户端子网
    %1, %2; %3; sends other subnets
    %1，%2；%3；发送其他子网
    blocks nothing
    不屏蔽
    blocks by Chinese rules
    按中国大陆的规定屏蔽
    blocks malware
    屏蔽恶意软件
    blocks malware, ads
    屏蔽恶意软件、广告
    blocks malware, ads, adult sites
    屏蔽恶意软件、广告、成人网站
    blocks by your profile
    按您的自定义配置屏蔽
    The daemon dials a provider by its addresses, so that no name is needed for that.
    守护进程按 IP 地址连接服务商，连接时不需要解析域名。
    This machine's resolver finds no address of %1.
    本机的解析器找不到 %1 的地址。
    These are the addresses of %1 by this machine's resolver.
    以下是本机的解析器得到的 %1 的地址。
    Addresses of %1
    %1 的地址
    2. Do you have an account with a vendor of HTTPDNS? It is added to those above.
    2. 您有 HTTPDNS 厂商的账号吗？它会与上面的选择一起使用。
    no account
    没有账号
    with %1 or %2
    有其中一家厂商的账号：%1、%2
    Service
    服务
    %1: %2
    %1：%2
    Account id, from the vendor
    厂商提供的账号 ID
    AccessKey id, from the vendor
    厂商提供的 AccessKey ID
    Addresses of %1, from the vendor
    厂商提供的 %1 的地址
    The key has a file of its own. If that does not exist, you can type the key.
    密钥保存在单独的文件中。如果文件不存在，可以直接输入密钥。
    Key file
    密钥文件
    Key for %1, not shown
    写入 %1 的密钥（输入时不显示）
    3. Which machines may use it? Others reach this one at the address that you choose.
    3. 哪些机器可以使用它？其他机器通过您选择的地址访问本机。
    this machine only
    仅本机
    this machine, and %1 (%2)
    本机，以及%1（%2）
    those of %1
    网段 %1 中的机器
    others
    其他机器
    This machine knows no network of %1.
    本机不知道 %1 属于哪个网段。
    No interface of this machine has the address %1.
    本机没有网络接口使用地址 %1。
    Networks of all machines that may query, such as 192.168.1.0/24
    允许查询的所有机器的网段，例如 192.168.1.0/24
    4. Shall this machine resolve its names with httpdnsd now?
    4. 现在就让本机使用 httpdnsd 解析域名吗？
    It changes /etc/resolv.conf; "httpdnsctl system restore" undoes that.
    这会修改 /etc/resolv.conf；用 "httpdnsctl system restore" 可以恢复。
    later, with "httpdnsctl system use"
    以后再用 "httpdnsctl system use" 启用
    now
    现在启用
    Write it?
    写入该文件吗？

    names go to
    域名交给
    %1 only
    仅%1
    last resort
    最后使用
    the network's nameservers
    本网络的域名服务器
    others resolve blocked names while no provider that blocks is reachable: choose only those that block
    有屏蔽功能的服务商都无法访问时，其他的会解析被屏蔽的域名：应只选择有屏蔽功能的
    account
    账号
    id %1
    账号 ID %1
    key in %1
    密钥在 %1
    key in %1 (new)
    密钥在 %1（新建）
    clients
    客户端
    this machine
    本机
    this machine, and %1 at %2
    本机，以及通过 %2 访问的 %1
    take over
    接管解析
    former file
    原文件
    kept as %1
    保存为 %1
    left out of it
    其中未保留
    all %1 lines: the file is not TOML
    全部 %1 行：该文件不是 TOML
    line %1: %2
    第 %1 行：%2
    lines %1 to %2: %3
    第 %1 至 %2 行：%3
    table %1
    表 %1

    found %1; allowed: no, yes
    输入的是 %1；请回答 yes（是）或 no（否）
    found %1; allowed: yes, no
    输入的是 %1；请回答 yes（是）或 no（否）
    choose a number
    请选择一个编号
    an answer is needed here
    这里必须回答
    found %1; allowed: 1 to %2
    输入的是 %1；可选范围：1 至 %2
    found %1; %2
    输入的是 %1；%2
    found %1; allowed: %2
    输入的是 %1；可以使用：%2
    found %1; allowed: %2; did you mean "%3"?
    输入的是 %1；可以使用：%2；是否想输入 "%3"？
    some of %1, https:// URLs, sdns:// stamps, or none
    %1 中的若干个、https:// URL、sdns:// 标识，或者 none
    none and providers exclude each other; leave one of them out
    none 不能与服务商同时使用，请去掉其中之一
    no and addresses exclude each other; leave one of them out
    no 不能与地址同时使用，请去掉其中之一
    no, or addresses of this machine: ADDR, ADDR:PORT or [ADDR]:PORT
    no，或者本机的地址：ADDR、ADDR:PORT 或 [ADDR]:PORT
    port 0 cannot be queried
    不能向 0 端口发送查询
    IP addresses of the service, such as 192.0.2.1
    该服务的 IP 地址，例如 192.0.2.1
    IP addresses with the host of their provider: HOST=ADDR,HOST=ADDR
    IP 地址及其服务商的主机名：HOST=ADDR,HOST=ADDR
    no provider of --providers has the host %1
    --providers 中没有主机名为 %1 的服务商
    networks of other machines, such as 192.168.1.0/24
    其他机器的网段，例如 192.168.1.0/24
    needs an address for --lan
    需要在 --lan 中指定地址
    a key is one word of up to %1 printable ASCII characters
    密钥是一串不含空格的可打印 ASCII 字符，最多 %1 个
    found without an account; add --account SERVICE
    没有指定账号；请加上 --account SERVICE
    allowed: a path without quotes and invisible characters
    可以使用：不含引号和不可见字符的路径
    a path that begins with / is needed; put the key itself into that file. A systemd credential is named as %1NAME
    需要以 / 开头的路径；密钥本身应写入该文件。systemd 凭据写作 %1NAME
    only root can change this machine's resolver; run setup with sudo
    只有 root 可以更改本机的解析器；请用 sudo 运行 setup
    %1 is given twice
    %1 重复出现
    unknown argument %1 of setup
    setup 没有参数 %1
    %1 needs a value
    %1 需要一个值
    see: httpdnsctl help setup
    参见：httpdnsctl help setup
    %1 is an IPv4 address in IPv6 form; write %2
    %1 是 IPv6 形式的 IPv4 地址；请写成 %2
    %1 is link-local, and settings cannot name its interface; name another address here
    %1 是链路本地地址，而设置中不能指定它的网络接口；请使用其他地址
    other machines can't reach this one at %1; name an address of one of its interfaces
    其他机器无法通过 %1 访问本机；请使用本机某个网络接口的地址

    found %1; %2 has no profiles, write %3
    输入的是 %1；%2 没有自定义配置，请写成 %3
    %1 needs the id of your profile with %2; write %3:ID with that id
    %1 需要您在 %2 的自定义配置的 ID；请写成 %3:ID，其中 ID 换成该值
    found %1: everyone on the path can read and change it; write https://
    输入的是 %1：途经的任何人都可以查看和修改其内容；请使用 https://
    found %1: setup takes providers of DNS over HTTPS only; write their https:// URL, or name a server for DNS over \
    TLS as a [[nameserver]]: man httpdnsd.toml
    输入的是 %1：setup 只接受 DNS over HTTPS 服务商；请写出它的 https:// URL，或者把 DNS over TLS 服务器写成 \
    [[nameserver]]，见 man httpdnsd.toml
    found %1; allowed: an https:// URL or an sdns:// stamp
    输入的是 %1；可以使用：https:// URL 或 sdns:// 标识
    found %1; allowed: https://HOST[:PORT]/PATH without user name, query and fragment
    输入的是 %1；可以使用：https://HOST[:PORT]/PATH，不含用户名、查询参数和片段
    found %1: it ends with %2; leave that out
    输入的是 %1：它以 %2 结尾；请去掉该字符
    no server can have the address %1; write the one that the provider names
    服务器不可能使用地址 %1；请填写该服务商公布的地址
    found %1: /resolve is for JSON, and setup takes DNS over HTTPS; write /dns-query instead
    输入的是 %1：/resolve 用于 JSON，而 setup 只接受 DNS over HTTPS；请改写为 /dns-query
    this DNS stamp can't be used: %1
    无法使用该 DNS 标识（stamp）：%1
    it is longer than %1 characters, or does not begin with sdns://
    它超过 %1 个字符，或者不是以 sdns:// 开头
    it has other characters than base64url has; copy it whole
    它含有 base64url 以外的字符；请完整复制
    it is cut off or damaged; copy it whole
    它不完整或已损坏；请完整复制
    it is for %1, and setup takes DNS over HTTPS only; look for the provider's stamp or https:// URL for that
    它用于 %1，而 setup 只接受 DNS over HTTPS；请查找该服务商的 DNS over HTTPS 标识或 https:// URL
    its protocol %1 is not known, and setup takes DNS over HTTPS only; look for the provider's stamp or https:// URL \
    for that
    它的协议 %1 未知，而 setup 只接受 DNS over HTTPS；请查找该服务商的 DNS over HTTPS 标识或 https:// URL
    its address %1 is no IP address of a server; ask who made it
    其中的地址 %1 不是服务器的 IP 地址；请联系标识的提供者
    its host name has characters that are not ASCII; write the provider's https:// URL instead
    其中的主机名含有非 ASCII 字符；请改用该服务商的 https:// URL
    %1 is no URL of a provider; write the provider's https:// URL instead
    %1 不是服务商的 URL；请改用该服务商的 https:// URL
    its address and its host name have different ports; write the provider's https:// URL instead
    其中的地址与主机名的端口不同；请改用该服务商的 https:// URL
    plain DNS
    普通 DNS
    a relay of DNSCrypt
    DNSCrypt 中继
    a relay of Oblivious DNS over HTTPS
    Oblivious DNS over HTTPS 中继

    name a file in another directory, such as /etc/httpdnsd
    请使用其他目录中的文件，例如 /etc/httpdnsd 中的文件
    %1 is a directory; a key has a file of its own
    %1 是目录；密钥应保存在单独的文件中
    %1 is not a regular file; put the key into one
    %1 不是普通文件；请把密钥保存在普通文件中
    %1 is empty; put the key into it, or remove it
    %1 是空文件；请写入密钥，或者删除该文件
    %1; remedy: %2
    %1。处理办法：%2
    %1 ends with "/"; name a file
    %1 以 "/" 结尾；请指定文件
    %1 is not a directory; name another file
    %1 不是目录；请使用其他文件
    %1 does not exist; create it first, or %2
    %1 不存在；请先创建，或者%2
    %1 does not exist, and neither does the user %2, who must own it; install httpdnsd first, or name an existing file
    %1 不存在，应拥有该文件的用户 %2 也不存在；请先安装 httpdnsd，或者使用已有的文件
    %1 does not exist, and %2 can't read a key that %3 writes; run setup with sudo
    %1 不存在，而 %2 无法读取由 %3 写入的密钥；请用 sudo 运行 setup
    %1 can't search %2 to reach %3; %4
    %1 无法进入目录 %2，因此访问不到 %3；%4
    %1 can't write into %2; %3
    %1 无法在 %2 中写入；%3
    %1 is the settings file; a key has a file of its own
    %1 是设置文件；密钥应保存在单独的文件中
    %1 may become a copy of the settings file; a key has a file of its own
    %1 可能成为设置文件的副本；密钥应保存在单独的文件中
    %1 can't be examined: its directory is not open to you; run setup with sudo
    无法检查 %1：您无权访问它所在的目录；请用 sudo 运行 setup
    %1 is a link to a file that does not exist; name the file itself
    %1 是符号链接，而所指的文件不存在；请直接指定该文件

    can't read %1: %2
    无法读取 %1：%2
    can't read %1: %2; run: sudo httpdnsctl setup
    无法读取 %1：%2；请运行：sudo httpdnsctl setup
    %1 is not a regular file; name another one with --output, or - for standard output
    %1 不是普通文件；请用 --output 指定其他文件，或用 - 表示标准输出
    %1 exists; add --replace to write a new one, and the former one is kept beside it
    %1 已存在；加上 --replace 可写入新文件，原文件保留在同一目录中
    %1 does not exist; create it first, or name another file with --output
    %1 不存在；请先创建，或者用 --output 指定其他文件
    user %1 can't write %2; is its file system read-only?
    用户 %1 无法写入 %2；它的文件系统是否为只读？
    user %1 can't write %2; run: sudo httpdnsctl setup
    用户 %1 无法写入 %2；请运行：sudo httpdnsctl setup
    --dry-run shows the file, and --output FILE writes it elsewhere
    用 --dry-run 可显示该文件，用 --output FILE 可写到其他位置
    %1.old-1 and all further names are taken; remove some
    从 %1.old-1 起的文件名都已被占用；请删除一些
    there is no terminal to ask at, and these answers are missing: %1
    没有可用于提问的终端，还缺少以下答案：%1
    %1 does not exist; put the key there: install -m 600 -o %2 KEYFILE %3
    %1 不存在；请把密钥放到该路径：install -m 600 -o %2 KEYFILE %3
    can't read from the terminal: %1
    无法从终端读取：%1
    nothing was written
    没有写入任何内容
    can't write %1: %2
    无法写入 %1：%2
    its file system can't replace it safely; write another file with --output, and move it
    它的文件系统不支持安全替换；请用 --output 写到其他文件，再移动过来
    only root can give the new file the group of this one; run: sudo httpdnsctl setup
    只有 root 可以让新文件与原文件同组；请运行：sudo httpdnsctl setup
    its file system is read-only; nothing can be changed there
    它的文件系统是只读的，无法更改其中的内容
    the directory %1 is not writable
    目录 %1 不可写
    is it immutable? see: lsattr %1; then: chattr -i %2
    它是否设为不可修改？用 lsattr %1 查看；如果是，运行 chattr -i %2
    %1 has changed meanwhile; run setup again
    %1 在此期间已被修改；请重新运行 setup
    the key is written already, to %1
    密钥已写入 %1
    %1 exists meanwhile, and is not overwritten; run setup again
    在此期间已出现文件 %1，没有覆盖它；请重新运行 setup
    can't write the key to %1: %2
    无法把密钥写入 %1：%2

    wrote %1
    已写入 %1
    kept the former file as %1
    原文件已保存为 %1
    left out of the former file:
    原文件中没有保留的部分：
    wrote the key to %1
    密钥已写入 %1
    no daemon answers now
    目前没有守护进程应答
    the running daemon reads %1, and not this one
    正在运行的守护进程读取的是 %1，不是这个文件
    the running daemon reads another file, and not this one
    正在运行的守护进程读取的是其他文件，不是这个文件
    stop that daemon before you start one with this file
    请先停止该守护进程，再用这个文件启动
    settings reloaded
    设置已重新加载
    settings reloaded; a restart is needed for %1
    设置已重新加载；以下各项需要重启才能生效：%1
    the running daemon has not read this file yet
    正在运行的守护进程还没有读取这个文件
    the running daemon refuses this file, and continues with its former settings
    正在运行的守护进程拒绝了这个文件，继续使用原来的设置
    correct this file before the next restart, or put the former one back
    请在下次重启前改正这个文件，或者恢复原文件
    nothing was taken over; the resolver of this machine is unchanged
    没有接管解析；本机的解析器保持不变
    Next:
    接下来请运行：

    China
    中国
    United States
    美国
    Switzerland
    瑞士
    Cyprus
    塞浦路斯
    Sweden
    瑞典
    Germany
    德国
    Czechia
    捷克
    Canada
    加拿大
    Alibaba
    阿里巴巴
    Tencent
    腾讯
    ByteDance
    字节跳动
    Baidu
    百度
    AliDNS with an AccessKey
    阿里公共 DNS（使用 AccessKey）
    EMAS HTTPDNS, version 2
    EMAS HTTPDNS，第 2 版
    HTTPDNS over TLS
    HTTPDNS（TLS 加密）
    HTTPDNS with AES
    HTTPDNS（AES 加密）
    HTTPDNS with DES
    HTTPDNS（DES 加密）
    HTTPDNS of Volcengine
    火山引擎 HTTPDNS
    HTTPDNS, over http only
    HTTPDNS（仅支持 http）
    """
