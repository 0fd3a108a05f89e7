//! Keys and TLS of streams: TLS 1.3 (RFC 8446) with raw public keys (RFC 7250) that both ends know
//! before.
//!
//! The Ed25519 key of a stream is derived from the private key of a node by HKDF (RFC 5869), so that
//! a machine needs one key file. Its public key is another than that of the node.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use polypath_session::key::PrivateKey;
use ring::hkdf::{HKDF_SHA256, Salt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName,
    Error, OtherError, ServerConfig, SignatureScheme, version,
};
use zeroize::Zeroizing;

/// The protocol name in the handshake (RFC 7301).
const ALPN: &[u8] = b"polypath-stream/1";
/// An Ed25519 private key in PKCS #8 (RFC 8410, section 7) up to its 32 bytes.
const PKCS8_PREFIX: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// An Ed25519 public key as a `SubjectPublicKeyInfo` (RFC 8410, section 4) up to its 32 bytes.
const SPKI_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// The public key of an end of a stream, written in base64.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StreamKey([u8; 32]);

/// Text that is not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a public key of a stream: 44 characters of base64 that end in `=`; \
     `polypath stream key FILE` prints it on the other machine"
)]
pub struct ParseStreamKeyError;

/// The key pair of an end of a stream.
#[derive(Clone, Debug)]
pub struct StreamIdentity {
    certified: Arc<CertifiedKey>,
    public: StreamKey,
}

/// The receivers that a server admits.
#[derive(Clone, Debug)]
pub enum Admission {
    /// Those with one of these keys.
    Keys(Vec<StreamKey>),
    /// All.
    Anyone,
}

/// The error of a key that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("this key cannot be used for streams: {0}")]
pub struct IdentityError(#[from] Error);

impl StreamIdentity {
    /// The key pair that is derived from the key of a node.
    pub fn of(key: &PrivateKey) -> Result<Self, IdentityError> {
        let der = pkcs8_of(key);
        let der = PrivatePkcs8KeyDer::from(der.as_slice());
        let signing = provider::sign::any_eddsa_type(&der)?;
        let unusable = || Error::General("it has no public key".to_owned());
        let info = signing.public_key().ok_or_else(unusable)?;
        let public = StreamKey::of_info(&info).ok_or_else(unusable)?;
        let certificate = CertificateDer::from(info.to_vec());
        Ok(Self {
            certified: Arc::new(CertifiedKey::new(vec![certificate], signing)),
            public,
        })
    }

    /// The public key, which the other end needs.
    #[must_use]
    pub fn public(&self) -> StreamKey {
        self.public
    }

    /// The TLS configuration of a server that admits these receivers.
    pub fn server_config(&self, admission: &Admission) -> Result<Arc<ServerConfig>, IdentityError> {
        let builder = ServerConfig::builder_with_provider(Arc::new(provider::default_provider()))
            .with_protocol_versions(&[&version::TLS13])?;
        // Anyone presents a key, too: without it there is no agreement on raw keys.
        let builder = builder.with_client_cert_verifier(Arc::new(PinnedKeys::new(admission)));
        let resolver = AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&self.certified));
        let mut config = builder.with_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = vec![ALPN.to_vec()];
        // Each connection proves its key by a handshake of its own.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// The TLS configuration of a receiver whose server has this key.
    pub fn client_config(&self, server: StreamKey) -> Result<Arc<ClientConfig>, IdentityError> {
        let resolver = AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&self.certified));
        let mut config =
            ClientConfig::builder_with_provider(Arc::new(provider::default_provider()))
                .with_protocol_versions(&[&version::TLS13])?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(PinnedKeys::new(&Admission::Keys(
                    vec![server],
                ))))
                .with_client_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Arc::new(config))
    }
}

/// The private key of a stream, derived from that of a node.
fn pkcs8_of(key: &PrivateKey) -> Zeroizing<Vec<u8>> {
    let derived = Salt::new(HKDF_SHA256, &[]).extract(key.as_bytes());
    let mut seed = Zeroizing::new([0; 32]);
    // 32 bytes are the length of HKDF_SHA256, which both calls accept.
    let filled = derived
        .expand(&[b"polypath stream, Ed25519"], HKDF_SHA256)
        .and_then(|output| output.fill(&mut *seed));
    debug_assert!(filled.is_ok(), "HKDF yields 32 bytes");
    Zeroizing::new([&PKCS8_PREFIX[..], &*seed].concat())
}

impl StreamKey {
    fn of_info(info: &[u8]) -> Option<Self> {
        info.strip_prefix(&SPKI_PREFIX)?.try_into().ok().map(Self)
    }
}

impl fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamKey({self})")
    }
}

impl fmt::Display for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl FromStr for StreamKey {
    type Err = ParseStreamKeyError;

    fn from_str(text: &str) -> Result<Self, ParseStreamKeyError> {
        let bytes = STANDARD.decode(text.trim()).ok();
        let key = bytes.and_then(|bytes| bytes.try_into().ok());
        key.map(Self).ok_or(ParseStreamKeyError)
    }
}

/// Verifies that the other end has a key that is admitted.
#[derive(Debug)]
struct PinnedKeys {
    admission: Admission,
    provider: CryptoProvider,
}

impl PinnedKeys {
    fn new(admission: &Admission) -> Self {
        Self {
            admission: admission.clone(),
            provider: provider::default_provider(),
        }
    }

    fn check(&self, presented: &CertificateDer<'_>) -> Result<(), Error> {
        let key = StreamKey::of_info(presented);
        let key = key.ok_or(Error::from(CertificateError::BadEncoding))?;
        match &self.admission {
            Admission::Keys(keys) if !keys.contains(&key) => Err(other_key(&key)),
            Admission::Keys(_) | Admission::Anyone => Ok(()),
        }
    }

    fn verify(
        &self,
        message: &[u8],
        presented: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let info = SubjectPublicKeyInfoDer::from(presented.as_ref());
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &info, signed, algorithms)
    }

    fn schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// The other end has another key than those given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the other end has the key {0}, which is none of those given; `polypath stream key` prints that of a stream, \
     which is another than that of `polypath key`"
)]
pub struct OtherKey(pub StreamKey);

impl OtherKey {
    /// The key in an error of a handshake, if that is its reason.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        match tls_error(error)? {
            Error::InvalidCertificate(CertificateError::Other(OtherError(reason))) => {
                reason.downcast_ref().copied()
            }
            _ => None,
        }
    }
}

/// Whether the other end of a handshake sent something else than TLS.
pub(crate) fn is_not_tls(error: &io::Error) -> bool {
    matches!(tls_error(error), Some(Error::InvalidMessage(_)))
}

fn tls_error(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// Whether the other end of a handshake refused the key of this one.
pub(crate) fn is_not_admitted(error: &io::Error) -> bool {
    matches!(
        tls_error(error),
        Some(Error::AlertReceived(AlertDescription::CertificateUnknown))
    )
}

fn other_key(key: &StreamKey) -> Error {
    let error = OtherError(Arc::new(OtherKey(*key)));
    CertificateError::Other(error).into()
}

/// Only TLS 1.3 is configured.
fn no_tls12() -> Error {
    Error::General("TLS 1.2 is not supported".to_owned())
}

impl ServerCertVerifier for PinnedKeys {
    fn verify_server_cert(
        &self,
        presented: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(presented)
            .map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        presented: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, presented, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PinnedKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        presented: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(presented)
            .map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        presented: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, presented, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
