//! What the server and the certificate process tell each other: one JSON object a line.

use mehari_config::{ChallengeKind, ManagedCertificates};
use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The longest line. A chain of certificates has some thousand bytes.
const LONGEST: u64 = 1 << 20;
/// The longest text of an authority that is passed on.
const LONGEST_TEXT: usize = 600;

/// What the server says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// The domains, and the challenges that the server's addresses can answer. After the first such
    /// order, only the domains count.
    Manage {
        managed: Box<ManagedCertificates>,
        answerable: Vec<ChallengeKind>,
    },
    /// The proofs of the last [`Report::Prove`] are in place, and all reports before it are done.
    Proving,
    /// Revoke the certificate of a domain. [`Report::Revoked`] answers.
    Revoke(Wish),
}

/// A certificate to revoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// A name of the domain.
    pub domain: String,
    pub reason: Reason,
    /// Revoke before a new certificate is in use.
    pub is_at_once: bool,
}

/// Why a certificate is revoked: the reasons of RFC 5280 section 5.3.1 that its holder can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    Unspecified,
    KeyCompromise,
    AffiliationChanged,
    Superseded,
    CessationOfOperation,
}

/// What the certificate process says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// A certificate to use from now on: key and chain in PEM.
    Certificate { domain: String, pem: String },
    /// An OCSP response in DER, in Base64, to send with the domain's certificate. `None`: send
    /// none.
    Staple {
        domain: String,
        response: Option<String>,
    },
    /// All stored certificates have been sent. A process that was started again says so again.
    Loaded,
    /// What became of an [`Order::Revoke`]: a line for the user.
    Revoked {
        domain: String,
        outcome: Result<String, String>,
    },
    /// Answer these challenges, in place of all former challenges.
    Prove(Vec<Proof>),
    /// A line for the error log.
    Log { level: Level, text: String },
    /// The state of all domains.
    Status(Vec<DomainStatus>),
}

/// The answer to a challenge.
#[derive(Debug, Serialize, Deserialize)]
pub enum Proof {
    /// The text at `/.well-known/acme-challenge/TOKEN`.
    Http { token: String, answer: String },
    /// The certificate for connections that ask for the protocol `acme-tls/1` and this name.
    TlsAlpn { name: String, pem: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    Notice,
    Warn,
    Error,
}

/// The state of one domain. Times are seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainStatus {
    pub names: Vec<String>,
    /// When the certificate ends. `None`: there is none yet.
    pub expires: Option<u64>,
    /// When the next request to the authority is due. `None`: none will be made.
    pub renews: Option<u64>,
    /// Why the last request failed.
    pub error: Option<String>,
    /// The failures since the last success.
    pub failures: u32,
    /// The serial number of a certificate that is being revoked, or that is revoked and still in
    /// use.
    pub revoking: Option<String>,
    /// When the OCSP response ends that goes with the certificate.
    pub stapled_until: Option<u64>,
}

/// Returns whether a token has the syntax of RFC 8555 section 8.3: base64url, at most 128 bytes.
pub fn is_token(token: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=128).contains(&token.len()) && token.bytes().all(fits)
}

/// Returns a text of an authority as one line of printable characters.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(LONGEST_TEXT).map(plain).collect()
}

/// Reads the next line. `None`: the other side has closed the socket.
///
/// # Errors
///
/// The socket fails. `InvalidData`: the line is too long or no message, and the next line can be
/// read.
pub async fn read<T: for<'de> Deserialize<'de>>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(LONGEST).read_until(b'\n', &mut line).await?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => match serde_json::from_slice(&line) {
            Ok(message) => Ok(Some(message)),
            Err(error) => Err(io::Error::new(io::ErrorKind::InvalidData, error)),
        },
        Some(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Writes one line.
///
/// # Errors
///
/// The socket fails.
pub async fn write(to: &mut (impl AsyncWrite + Unpin), message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_base64url_and_short() {
        assert!(is_token("LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0"));
        for wrong in ["", "a/b", "a.b", "a b", "a=", "..", "a\n", &"a".repeat(129)] {
            assert!(!is_token(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn texts_of_an_authority_become_one_short_line() {
        assert_eq!(one_line("a\r\nb\u{1b}[2Jc"), "a  b [2Jc");
        assert_eq!(one_line(&"x".repeat(5_000)).len(), LONGEST_TEXT);
    }
}
