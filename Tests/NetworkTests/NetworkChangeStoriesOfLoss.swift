// Stories of lost default routes, of gateways that do not answer, and of machines that sleep.

extension NetworkChangeStories {
    static let gaps = [
        NetworkChangeStory(
            "a carrier that is gone for a moment",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0
            1900 join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            > 1000 no way out
            > 1900 way out IPv4
            """),
        NetworkChangeStory(
            "a carrier that is gone for long: the same network counts as another one",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0
            9000 join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            > 1000 no way out
            > 9000 way out IPv4
            > 9000 changing
            > 9250 restored since 9000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "no network at the start",
            """
            start
            300 join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            > 300 way out IPv4
            > 300 changing
            > 550 restored since 300: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "a long way to another network",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            1000 leave wlan0
            1000 search
            5000 join wlan0 wifi 10.2.0.2/24 via 10.2.0.1 0a:00:00:00:00:02
            5010 search cafe.example
            > 1000 no way out
            > 5000 way out IPv4
            > 5000 changing
            > 5260 restored since 5000: wifi, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24, search cafe.example
            """),
        NetworkChangeStory(
            "a way out that comes and is lost again before it counts",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0
            5000 join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            5100 leave eth0
            6000 join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            > 1000 no way out
            > 5000 way out IPv4
            > 5000 changing
            > 5100 no way out
            > 5350 unchanged
            > 6000 way out IPv4
            > 6000 changing
            > 6250 restored since 6000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "a way out that is lost in the midst of a change and back in time",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            link eth1 ethernet
            start
            1000 leave eth0; join eth1 ethernet 10.2.0.2/24 via 10.2.0.1 0a:00:00:00:00:02
            1100 leave eth1
            1300 join eth1 ethernet 10.2.0.2/24 via 10.2.0.1 0a:00:00:00:00:02
            > 1000 changing
            > 1100 no way out
            > 1300 way out IPv4
            > 1550 route since 1300: ethernet, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "a gateway that had not answered, gone for long, answers at once: that is not only a name",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1
            start
            1000 leave eth0
            5000 join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            > 0 solicit 10.1.0.1
            > 1000 no way out
            > 5000 way out IPv4
            > 5000 changing
            > 5250 restored since 5000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "one family is lost and the other is not",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            route default6 eth0 via fe80::1
            start
            1000 no route default6 eth0
            > 1000 way out IPv4
            """),
    ]

    static let gateways = [
        NetworkChangeStory(
            "the gateway answers within the quiet time",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0; join eth0 ethernet 10.2.0.2/24 via 10.2.0.1
            1200 neighbour 10.2.0.1 0a:00:00:00:00:02 eth0
            > 1000 solicit 10.2.0.1
            > 1000 changing
            > 1250 route since 1000: ethernet, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "the gateway answers after the quiet time: at once",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0; join eth0 ethernet 10.2.0.2/24 via 10.2.0.1
            1700 neighbour 10.2.0.1 0a:00:00:00:00:02 eth0
            > 1000 solicit 10.2.0.1
            > 1000 changing
            > 1700 route since 1000: ethernet, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "the gateway answers when the network is in force without it",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0; join eth0 ethernet 10.2.0.2/24 via 10.2.0.1
            4000 neighbour 10.2.0.1 0a:00:00:00:00:02 eth0
            > 1000 solicit 10.2.0.1
            > 1000 changing
            > 2000 route since 1000: ethernet, gateway 10.2.0.1, 10.2.0.0/24
            > 4000 route since 4000: ethernet, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "the gateway is not known at the start",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1
            start
            30 neighbour 10.1.0.1 0a:00:00:00:00:01 eth0
            > 0 solicit 10.1.0.1
            > 30 route since 30: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "the gateway answers together with another change: that is not only a name",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1
            start
            500 neighbour 10.1.0.1 0a:00:00:00:00:01 eth0; address 10.1.0.7/24 eth0; no address 10.1.0.2/24 eth0
            > 0 solicit 10.1.0.1
            > 500 changing
            > 750 route since 500: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:01), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "a network with the addresses of the last one: its gateway is solicited",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            1000 leave wlan0
            1500 join wlan0 wifi 192.168.1.20/24 via 192.168.1.1
            1510 neighbour 192.168.1.1 0a:00:00:00:00:09 wlan0
            > 1000 no way out
            > 1500 way out IPv4
            > 1500 solicit 192.168.1.1
            > 1500 changing
            > 1750 route since 1500: wifi, gateway 192.168.1.1 (0a:00:00:00:00:09), 192.168.1.0/24
            """),
        NetworkChangeStory(
            "another interface with the addresses of the last one: its gateway is asked as well",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            link eth1 ethernet
            start
            1000 leave eth0; join eth1 ethernet 10.1.0.2/24 via 10.1.0.1
            1100 neighbour 10.1.0.1 0a:00:00:00:00:09 eth1
            > 1000 solicit 10.1.0.1
            > 1000 changing
            > 1250 route since 1000: ethernet, gateway 10.1.0.1 (0a:00:00:00:00:09), 10.1.0.0/24
            """),
        NetworkChangeStory(
            "a modem and a point-to-point line have no neighbour to wait for",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0; join wwan0 modem 100.64.3.7/30 via 100.64.3.8
            5000 leave wwan0; link ppp0 ppp; address 203.0.113.5/32 ppp0; route default ppp0 via 203.0.113.1
            > 1000 changing
            > 1250 route since 1000: cellular
            > 5000 changing
            > 5250 route since 5000: tunnel, gateway 203.0.113.1, all through VPN ppp0
            """),
    ]

    static let wakes = [
        NetworkChangeStory(
            "with the same network: at once",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            60000 woke
            > 60000 wake since 60000: wifi, gateway 192.168.1.1 (0a:00:00:00:00:01), 192.168.1.0/24
            """),
        NetworkChangeStory(
            "with another network, which shows a little later",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            60000 woke
            60300 leave wlan0
            62000 join wlan0 wifi 10.2.0.2/24 via 10.2.0.1
            62020 neighbour 10.2.0.1 0a:00:00:00:00:02 wlan0
            > 60000 wake since 60000: wifi, gateway 192.168.1.1 (0a:00:00:00:00:01), 192.168.1.0/24
            > 60300 no way out
            > 62000 way out IPv4
            > 62000 solicit 10.2.0.1
            > 62000 changing
            > 62250 restored since 62000: wifi, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
        NetworkChangeStory(
            "without a network, which comes back soon",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            59800 leave wlan0
            60000 woke
            60500 join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            > 59800 no way out
            > 60500 way out IPv4
            > 60500 changing
            > 60750 wake since 60500: wifi, gateway 192.168.1.1 (0a:00:00:00:00:01), 192.168.1.0/24
            """),
        NetworkChangeStory(
            "without a network, which takes its time",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            start
            59000 leave wlan0
            60000 woke
            64000 join wlan0 wifi 192.168.1.20/24 via 192.168.1.1 0a:00:00:00:00:01
            > 59000 no way out
            > 64000 way out IPv4
            > 64000 changing
            > 64250 wake since 64000: wifi, gateway 192.168.1.1 (0a:00:00:00:00:01), 192.168.1.0/24
            """),
        NetworkChangeStory(
            "while the gateway is not known",
            """
            join wlan0 wifi 192.168.1.20/24 via 192.168.1.1
            start
            60000 woke
            60020 neighbour 192.168.1.1 0a:00:00:00:00:01 wlan0
            > 0 solicit 192.168.1.1
            > 60000 solicit 192.168.1.1
            > 60000 changing
            > 60250 wake since 60000: wifi, gateway 192.168.1.1 (0a:00:00:00:00:01), 192.168.1.0/24
            """),
        NetworkChangeStory(
            "in the midst of a change",
            """
            join eth0 ethernet 10.1.0.2/24 via 10.1.0.1 0a:00:00:00:00:01
            start
            1000 leave eth0; join wlan0 wifi 10.2.0.2/24 via 10.2.0.1 0a:00:00:00:00:02
            1100 woke
            > 1000 changing
            > 1100 wake since 1100: wifi, gateway 10.2.0.1 (0a:00:00:00:00:02), 10.2.0.0/24
            """),
    ]
}
