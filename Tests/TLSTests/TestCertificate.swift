/// A certificate for localhost, valid for decades, with its key and another one.
enum TestCertificate {
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

    static let otherKey = """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIDHLZSw+SBchEjg4aWulkAGSf4wpUVnnaxM28FXpQxVIoAoGCCqGSM49
        AwEHoUQDQgAEBr/pTncfD5S4YbBpclffcQhVRoJOMIj5a2u+tliBj7U91YGv7m4p
        C0oqK1JogsEALgT1hBEE/7JxZ1ckg8hHbw==
        -----END EC PRIVATE KEY-----
        """
}
