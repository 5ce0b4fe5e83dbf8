// Stories of network changes. NetworkChangeStory.swift describes their language.

enum NetworkChangeStories {
    static let moves = [
        NetworkChangeStory(
            "from router A to B, step by step",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 address 10.2.0.2/24 eth0
            1020 no route default eth0
            1040 route default eth0 via 10.2.0.1; neighbour 10.2.0.1 0a:00:00:00:00:02 eth0
            1060 no address 10.1.0.2/24 eth0
            > 1020 no way out
            > 1040 way out IPv4
            > 1040 changing
            > 1290 route since 1040: ethernet, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "from cable to wireless: the better metric counts",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            link wlan0 wifi; address 10.2.0.2/24 wlan0; neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0
            route default wlan0 via 10.2.0.1 metric 600
            start
            1000 leave eth0
            > 1000 changing
            > 1250 route since 1000: wifi, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "from cable to wireless behind the same router",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0; join wlan0 wifi 10.1.0.7/24 via 10.1.0.1 0a:00:00:00:00:01
            1020 search lan
            > 1000 changing
            > 1270 route since 1000: wifi, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24, search lan
            """),
        NetworkChangeStory(
            "the same addresses behind another gateway are another network",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            5000 neighbour 192.168.1.1 0a:00:00:00:00:09 wlan0
            5010 search lan
            > 5000 changing
            > 5260 route since 5000: wifi, gateway 192.168.1.1 (0a:00:00:00:00:09), 192.168.1.0/24, search lan
            """),
        NetworkChangeStory(
            "a storm is cut after a second",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            link wlan0 wifi; address 10.2.0.2/24 wlan0; neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0
            start
            1000 route default wlan0 via 10.2.0.1; no route default eth0
            1200 route default eth0 via 10.1.0.1; no route default wlan0
            1400 route default wlan0 via 10.2.0.1; no route default eth0
            1600 route default eth0 via 10.1.0.1; no route default wlan0
            1800 route default wlan0 via 10.2.0.1; no route default eth0
            2100 route default eth0 via 10.1.0.1; no route default wlan0
            > 1000 changing
            > 2000 route since 1000: wifi, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            > 2100 changing
            > 2350 route since 2100: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "there and back again within the quiet time is nothing",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            link wlan0 wifi; address 10.2.0.2/24 wlan0; neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0
            start
            1000 route default wlan0 via 10.2.0.1; no route default eth0
            1100 route default eth0 via 10.1.0.1; no route default wlan0
            > 1000 changing
            > 1350 unchanged
            """),
        NetworkChangeStory(
            "there and back again, to the address that was in use",
            """
            join eth0 ethernet 10.1.0.20/24 via 10.1.0.1 0a:00:00:00:00:01
            link wlan0 wifi; address 10.2.0.2/24 wlan0; neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0
            start
            500 address 10.1.0.5/24 eth0
            1000 route default wlan0 via 10.2.0.1; no route default eth0
            1100 route default eth0 via 10.1.0.1; no route default wlan0
            > 1000 changing
            > 1350 unchanged
            """),
        NetworkChangeStory(
            "another address of our own breaks every connection, in the same network too",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 address 10.1.0.3/24 eth0
            2000 no address 10.1.0.2/24 eth0
            > 2000 changing
            > 2250 route since 2000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "a VPN for part of the world, up and down",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 link wg0 wireguard; address 10.9.0.2/32 wg0
            1100 route 10.9.0.0/16 wg0
            9000 unlink wg0
            > 1100 changing
            > 1350 vpn since 1100: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24, VPN wg0
            > 9000 changing
            > 9250 vpn since 9000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "a VPN that takes everything: by two halves, by a table of its own, by its metric",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            link tun0 tun; address 10.9.0.2/24 tun0; route 10.9.0.0/24 tun0
            start
            1000 route 0.0.0.0/1 tun0; route 128.0.0.0/1 tun0
            2000 no route 0.0.0.0/1 tun0; no route 128.0.0.0/1 tun0; route default tun0 table 52
            3000 no route default tun0
            4000 route default tun0 metric 50; no route default eth0; route default eth0 via 10.1.0.1 metric 100
            > 1000 changing
            > 1250 vpn since 1000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24, all through VPN tun0
            > 3000 changing
            > 3250 vpn since 3000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24, VPN tun0
            > 4000 changing
            > 4250 vpn since 4000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24, all through VPN tun0
            """),
        NetworkChangeStory(
            "another search domain",
            """
            link eth0 ethernet; route default eth0
            start lan
            1000 search corp.example Lan.
            > 1000 changing
            > 1250 domain since 1000: ethernet, search corp.example lan
            """),
        NetworkChangeStory(
            "a resolv.conf that is written anew, empty for a moment",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start corp.example lan
            1000 search
            1020 search LAN corp.example.
            > 1000 changing
            > 1270 unchanged
            """),
        NetworkChangeStory(
            "an address of IPv6 only, then one of IPv4 as well",
            """
            join wlan0 wifi 2001:db8:1::20/64 via fe80::1 0a:00:00:00:00:01
            start
            1000 address 192.0.2.20/24 wlan0; neighbour 192.0.2.1 0a:00:00:00:00:01 wlan0
            1000 route default wlan0 via 192.0.2.1
            > 1000 way out IPv6
            > 1000 way out IPv4+IPv6
            > 1000 changing
            > 1250 route since 1000: wifi, gateway 192.0.2.1 (0a:00:00:00:00:01), 192.0.2.0/24
            """),
    ]

    static let noise = [
        NetworkChangeStory(
            "containers and bridges come and go",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 link docker0 bridge; address 172.17.0.1/16 docker0; route 172.17.0.0/16 docker0
            1010 link veth1 veth; address fe80::1/64 veth1
            1020 link veth2 veth; unlink veth1
            1030 link virbr0 bridge; address 192.168.122.1/24 virbr0; route 192.168.122.0/24 virbr0
            1040 unlink docker0; unlink veth2
            > 1010 way out IPv4
            > 1020 way out IPv4
            """),
        NetworkChangeStory(
            "inside a container the veth is the cable",
            """
            join eth0 veth 172.17.0.2/16 via 172.17.0.1 02:42:00:00:00:01
            start
            1000 no route default eth0; route default eth0 via 172.17.0.9
            1001 neighbour 172.17.0.9 02:42:00:00:00:09 eth0
            > 1000 solicit 172.17.0.9
            > 1000 changing
            > 1250 route since 1000: ethernet, gateway 172.17.0.9 (02:42:00:00:00:09), 172.17.0.0/16
            """),
        NetworkChangeStory(
            "an address is taken away and given again",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 no address 10.1.0.2/24 eth0
            1001 address 10.1.0.2/24 eth0
            > 1000 changing
            > 1251 unchanged
            """),
        NetworkChangeStory(
            "addresses of IPv6 beside IPv4, old and new",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            address 2001:db8:1::2/64 eth0; route default6 eth0 via fe80::1
            start
            1000 address 2001:db8:2::2/64 eth0
            2000 no address 2001:db8:1::2/64 eth0
            """),
        NetworkChangeStory(
            "addresses of IPv6 in one prefix come and go where there is nothing else",
            """
            join eth0 ethernet 2001:db8:1::2/64 via fe80::1 0a:00:00:00:00:01
            start
            1000 address 2001:db8:1::ffff/64 eth0; address fe80::5/64 eth0
            2000 no address 2001:db8:1::2/64 eth0
            """),
        NetworkChangeStory(
            "a second address, lower than the first, and a host route",
            """
            join eth0 ethernet 10.1.0.20/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 address 10.1.0.5/24 eth0
            1100 route 203.0.113.7/32 eth0 via 10.1.0.1
            """),
        NetworkChangeStory(
            "a VPN's server has a route to each of its clients",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 link ppp0 ppp; route 10.8.0.2/32 ppp0
            1100 link ppp1 ppp; route 10.8.0.3/32 ppp1
            1200 unlink ppp0
            """),
        NetworkChangeStory(
            "the kernel forgets a gateway that has been silent",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 no neighbour 10.1.0.1 eth0
            4000 neighbour 10.1.0.1 0a:00:00:00:00:01 eth0
            > 1000 solicit 10.1.0.1
            """),
        NetworkChangeStory(
            "a second way out with a worse metric, and an interface that is down with a better one",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 link wlan0 wifi; route default wlan0 via 10.2.0.1 metric 600
            2000 link eth1 ethernet; down eth1; route 0.0.0.0/1 eth1; route default eth1 via 10.3.0.1
            """),
        NetworkChangeStory(
            "noise does not draw out a change",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 no route default eth0; route default eth0 via 10.1.0.9
            1000 neighbour 10.1.0.9 0a:00:00:00:00:09 eth0
            1200 link veth1 veth
            1240 unlink veth1
            > 1000 solicit 10.1.0.9
            > 1000 changing
            > 1250 route since 1000: ethernet, gateway 10.1.0.9 (0a:00:00:00:00:09), 10.1.0.0/24
            """),
    ]
}
