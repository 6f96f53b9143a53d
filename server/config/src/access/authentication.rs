//! Authentication: `AuthType` and its directives.

use std::time::Duration;

/// `AuthType` and its directives. `None`: not configured.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Authentication {
    pub kind: Option<String>,
    /// `AuthName`
    pub realm: Option<String>,
    pub user_file: Option<std::path::PathBuf>,
    pub group_file: Option<std::path::PathBuf>,
    /// `AuthzSendForbiddenOnFailure`: an authenticated user without the right gets 403, not 401.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub forbids_on_failure: bool,
    pub digest: DigestWords,
}

/// `AuthDigestAlgorithm`
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum DigestAlgorithm {
    #[serde(rename = "MD5")]
    Md5,
    #[serde(rename = "SHA-256")]
    Sha256,
}

impl DigestAlgorithm {
    pub const ALL: [DigestAlgorithm; 2] = [DigestAlgorithm::Md5, DigestAlgorithm::Sha256];

    pub fn named(name: &str) -> Option<DigestAlgorithm> {
        let mut all = DigestAlgorithm::ALL.into_iter();
        all.find(|one| one.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        match self {
            DigestAlgorithm::Md5 => "MD5",
            DigestAlgorithm::Sha256 => "SHA-256",
        }
    }

    /// Returns the length of a hash in hexadecimal digits.
    pub fn digits(self) -> usize {
        match self {
            DigestAlgorithm::Md5 => 32,
            DigestAlgorithm::Sha256 => 64,
        }
    }
}

/// The `AuthDigest...` directives.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct DigestWords {
    /// The algorithms of `AuthDigestAlgorithm` as written. Empty: MD5.
    pub algorithms: Vec<DigestAlgorithm>,
    /// `AuthDigestQop none`: responses have the form of RFC 2069, without a `qop` parameter.
    pub without_quality: bool,
    /// `AuthDigestNonceLifetime` in seconds. A negative value means for ever.
    pub nonce_lifetime: Option<i64>,
    /// `AuthDigestNcCheck Off`: the count of a nonce is not checked.
    pub uncounted: bool,
    /// `AuthDigestDomain`
    pub domain: Vec<String>,
}

impl DigestWords {
    /// Returns the algorithms of the challenge, the best first.
    pub fn algorithms(&self) -> &[DigestAlgorithm] {
        match self.algorithms.as_slice() {
            [] => &[DigestAlgorithm::Md5],
            all => all,
        }
    }

    /// Returns the lifetime of a nonce. Zero: the nonce is valid for one request. `None`: for ever.
    pub fn life(&self) -> Option<Duration> {
        const USUAL: i64 = 300;
        let seconds = self.nonce_lifetime.unwrap_or(USUAL);
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }

    /// Tells whether the server accepts each count of a nonce only once.
    pub fn counts(&self) -> bool {
        !self.uncounted
    }
}

impl Authentication {
    pub(crate) fn apply(&mut self, word: &AuthWord) {
        match word {
            AuthWord::Kind(kind) => {
                self.kind = Some(kind.clone()).filter(|kind| !kind.eq_ignore_ascii_case("none"))
            }
            AuthWord::Realm(realm) => self.realm = Some(realm.clone()),
            AuthWord::UserFile(file) => self.user_file = Some(file.clone()),
            AuthWord::GroupFile(file) => self.group_file = Some(file.clone()),
            AuthWord::ForbidsOnFailure(on) => self.forbids_on_failure = *on,
            AuthWord::Digest(word) => self.digest.apply(word),
        }
    }

    /// Tells whether the front itself authenticates users with the scheme Basic.
    pub fn is_basic(&self) -> bool {
        self.is_of_kind("basic")
    }

    pub fn is_digest(&self) -> bool {
        self.is_of_kind("digest")
    }

    fn is_of_kind(&self, name: &str) -> bool {
        let kind = self.kind.as_deref();
        kind.is_some_and(|kind| kind.eq_ignore_ascii_case(name))
    }
}

/// One `AuthDigest...` directive and its value.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum DigestWord {
    Algorithms(Vec<DigestAlgorithm>),
    WithoutQuality(bool),
    NonceLifetime(i64),
    Uncounted(bool),
    Domain(Vec<String>),
}

impl DigestWords {
    fn apply(&mut self, word: &DigestWord) {
        match word {
            DigestWord::Algorithms(all) => self.algorithms.clone_from(all),
            DigestWord::WithoutQuality(without) => self.without_quality = *without,
            DigestWord::NonceLifetime(seconds) => self.nonce_lifetime = Some(*seconds),
            DigestWord::Uncounted(uncounted) => self.uncounted = *uncounted,
            DigestWord::Domain(all) => self.domain.clone_from(all),
        }
    }
}

/// One directive about authentication and its value.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum AuthWord {
    Kind(String),
    Realm(String),
    UserFile(std::path::PathBuf),
    GroupFile(std::path::PathBuf),
    ForbidsOnFailure(bool),
    Digest(DigestWord),
}
