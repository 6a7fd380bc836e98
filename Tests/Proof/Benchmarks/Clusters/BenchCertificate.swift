/// The certificate for localhost that nodes show in benchmarks, and its key, known to all.
enum BenchCertificate {
    static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBgDCCASWgAwIBAgIUGefhCR97II56QQkxR0qITgRQ+BIwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTAzNTYyM1oYDzIxMDAxMDI4
        MDM1NjIzWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAARAv/9Wttz2wagG37NuxE+wegw0Oh3K1RwQmVMGKlhSN3IEc1CB5/aE
        +YOo+H8FzDlNgncl7Jy5Gyc4Sd1KdlIqo1MwUTAdBgNVHQ4EFgQU6OHnoysQx2fm
        Lj6iefoTMDjTMmYwHwYDVR0jBBgwFoAU6OHnoysQx2fmLj6iefoTMDjTMmYwDwYD
        VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAuxt6sxV+DFUYP9iH3L+Q
        XADigRrXpnJmo8irHcVjKPACIQCb7qKfvxByVH/w58vtZPpGnxSFObIh+r51DgKe
        qak1HQ==
        -----END CERTIFICATE-----
        """

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQghPlk+gM8Dki/aDwq
        aunw4NWaoGdUMNftY5hCayr+CY6hRANCAARAv/9Wttz2wagG37NuxE+wegw0Oh3K
        1RwQmVMGKlhSN3IEc1CB5/aE+YOo+H8FzDlNgncl7Jy5Gyc4Sd1KdlIq
        -----END PRIVATE KEY-----
        """

    /// Writes both into a folder.
    ///
    /// - Returns: the options of a node that shows it.
    static func options(in folder: String) throws(BenchError) -> [String] {
        let (shown, secret) = ("\(folder)/certificate.pem", "\(folder)/key.pem")
        try Files.write(certificate + "\n", to: shown)
        try Files.write(key + "\n", to: secret)
        return ["--tls-cert", shown, "--tls-key", secret]
    }
}
