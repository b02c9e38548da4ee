// This source file is part of the Optimist open source project, under the MIT licence.

#if canImport(Glibc)
    import NIOSSL

    /// A self-signed certificate for `localhost` and 127.0.0.1.
    enum TestCertificate {
        static var chain: [NIOSSLCertificateSource] {
            get throws {
                try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) }
            }
        }

        static var privateKey: NIOSSLPrivateKeySource {
            get throws { .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)) }
        }

        // Made for these tests with `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days
        // 36500 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1`. It protects nothing.
        private static let key = """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg1DgtUIVt51TM76UF
            gVHZS3y3mAR+GcrIWFc6g6Xqg+KhRANCAAT1DlZgbGL6CYwB6jC1NZ47gcvpNjkQ
            F/SmQcxLMQDFSccCF5EHgi8PC3ev2MkJEqK9ZskkkDn005vcEKC8WGID
            -----END PRIVATE KEY-----
            """
        private static let certificate = """
            -----BEGIN CERTIFICATE-----
            MIIBmjCCAUGgAwIBAgIUPSo74JDvCAfykhfS0/8wB4wBkggwCgYIKoZIzj0EAwIw
            FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTAwMTgzMloYDzIxMjYxMTAx
            MDAxODMyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
            PQMBBwNCAAT1DlZgbGL6CYwB6jC1NZ47gcvpNjkQF/SmQcxLMQDFSccCF5EHgi8P
            C3ev2MkJEqK9ZskkkDn005vcEKC8WGIDo28wbTAdBgNVHQ4EFgQU8uo9mhtswrDT
            6HNJdkdRo3GvPdYwHwYDVR0jBBgwFoAU8uo9mhtswrDT6HNJdkdRo3GvPdYwDwYD
            VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
            zj0EAwIDRwAwRAIgRcnQrXxzhdtCDryNw4VRAstCgU5kTybNokvWSJtbT2YCICYJ
            7QEhgeX6l9eBZKWmmwK758DSD0kxE/TL/++vQ6va
            -----END CERTIFICATE-----
            """
    }
#endif
