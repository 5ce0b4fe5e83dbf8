# Stand-ins for the vendors' services, written from the vendors' documents. They share no code with the daemon or the
# lab, and import nothing but the standard library, `cryptography`, and the helpers of these tests.
