/// Keys and tokens of alice until 2100, made by another library (PyJWT).
enum SignedTokens {
    struct Sample: Sendable {
        let algorithm: String
        let key: String
        let token: String
    }

    static let all = [
        Sample(
            algorithm: "RS256",
            key: """
                {"kty":"RSA","n":"t5xwJ31OkMWCYGzAYRh_lnYaeXpuBx3C4qAwQedTGHajC9sDCRaJUtn7dcKe\
                oC25J7jA99QLpjtjY610ZwQHmOfhkSM1kLnqoE0nHPB_MWAg2d5E5mWJbWiJLabyIBH2KnDi-kjwgy\
                GtwZC-2eWlxH0ap2GjIwvUsxjF9_EGBXxEplWfZvujdbA8ISVm6Hz6AsuW0LPGpzZYea0zt9A0IuoK\
                CD5fJMoccDZhNM7V2kbxuGbg3rgTV6pwhuP5mzqslbP8998bf72N8235ZphrCl-fnSqS49-pFrikVT\
                Zzen5C2G5xaqDvkwkLUDw0KjzBAA65rjVQhe6mF8ajIF3SAw","e":"AQAB","alg":"RS256"}
                """,
            token: """
                eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwM\
                H0.LAPSC2fkWwhUzYOAezOAj5CUhwmS5fDp5xIbWE1ccoOnwhQhdq06x2Jp6SbgEI9i8CV13Zg_tZD\
                VjSvt2mra7v54WOdj7GVWITAOWaRYX5YB_MNcgMIjAox0SUnbDoVq5HLtnr53XbUyqq72Pk2C2wm-q\
                SujW7ba5umk4bdfXC7of9LMbL662MYWTeRANVm-_gXIDWkNfs6YbIvXDJDqn42E1foaeXu8_w4kFjv\
                RaS-VQnhP2yIfUOVKKVOnxa63UBNRRIVdsxynYpk35eaNZ3CwWND9wJlSX04FIaygfZEcbhfiV2fdr\
                _3kUXfx5PUK3rjHcfXSU6C7cD4vg189jg
                """),
        Sample(
            algorithm: "ES256",
            key: """
                {"kty":"EC","crv":"P-256","x":"fy8ayV4FBwdCvHqcG2viVgGesl1XDqhO7ySYoiTsOUE","y\
                ":"JHDXFCQF9cJg099RUg-Nmr_-9buCIiqF8L4rLM677iI"}
                """,
            token: """
                eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwM\
                H0.B36AO-syaw4rJ09osX9s2odNunOep8K_ayfce-Tpde-YY4PVEkhhAQg4UGu2iTGvFHWJLDlFOUR\
                lzUhFGVI0uw
                """),
        Sample(
            algorithm: "EdDSA",
            key: """
                {"kty":"OKP","crv":"Ed25519","x":"m-fFLxBoG91gk0mexTOOWrP8lLCsj-5uVd2h8GTOyKg"\
                }
                """,
            token: """
                eyJhbGciOiJFZERTQSIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwM\
                H0.qp8KWA0WV_DqcglFkAp7s59M7hCGCf8E6PActntwFMYXgOhzKxDtXQ6jFIaAp42Dfc2L9LgGODA\
                a1cgE7bFRDA
                """),
        Sample(
            algorithm: "HS256",
            key: """
                {"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}
                """,
            token: """
                eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwM\
                H0.DvdDttFvdgTOXtC2L5P1zfs2bIMtiEwN3al4EAHYyf8
                """),
    ]

    /// An RSA key of 1,024 bits.
    static let shortKey = """
        {"kty":"RSA","n":"sI9NJa7cbH5Ovk4OQBkrznRH7CjGrhngHkhI1In9d-8tJd3-_MzzS70vnyxH\
        gnsmgbi_qeXmaDXuQuDgV66THDcAXx6WfuzjnHHa3dlDcCUqerS-9ii5OVmtrHFyXSsj69zkrkpAzX\
        V-7xeDpQ0AiKhdyEX6WXlfXGRQTKMSGlE","e":"AQAB"}
        """
}
