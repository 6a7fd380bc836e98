/// A certificate for the name localhost alone, valid for decades, with its key.
enum TestCertificate {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBVDCB+6ADAgECAhR94gtodBn0XG1CGsU3++HQbTzYOTAKBggqhkjOPQQDAjAU
        MRIwEAYDVQQDDAlsb2NhbGhvc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEwMDAxMDEw
        MDAwMDBaMBQxEjAQBgNVBAMMCWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49
        AwEHA0IABIn6O7g7OPJ4h5F9T1c3Y7toaRq9r+ENuB+HO2jrfqo7qz2TvKX64cMB
        Rvax73StjIYKm5RjQ2ilOqgVf6xMspWjKTAnMA8GA1UdEwEB/wQFMAMBAf8wFAYD
        VR0RBA0wC4IJbG9jYWxob3N0MAoGCCqGSM49BAMCA0gAMEUCIEteqfh/qDgcFPBY
        bDJYO9ROinkIovJkgxqgURuNq0zrAiEAlJ+Xlb44UGgW/2a460U1G9bsJ0ltneYS
        MPZ6GqrwKTQ=
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5ydtUz5JcPxnGqna
        indikg2PtIC4P2b5oNj0aGKvzKShRANCAASJ+ju4OzjyeIeRfU9XN2O7aGkava/h
        Dbgfhzto636qO6s9k7yl+uHDAUb2se90rYyGCpuUY0NopTqoFX+sTLKV
        -----END PRIVATE KEY-----
        """
}
