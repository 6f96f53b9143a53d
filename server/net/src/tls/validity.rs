//! Warns about certificates that are expired, not valid yet, or about to expire, at the start and
//! at each reload. The server uses these certificates all the same, because some clients accept an
//! expired certificate.

use super::certificate::read_certificates;
use mehari_config::Site;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use x509_parser::prelude::{FromDer, X509Certificate};

/// A certificate that expires within this time gets a warning. Automatic renewal replaces a
/// certificate about a month before it expires.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// Returns a line for each certificate that deserves a warning. Unreadable files are reported
/// elsewhere.
pub fn warnings(site: &Site) -> Vec<String> {
    let mut files: Vec<&Path> = site
        .all_hosts()
        .flat_map(|host| &host.tls.certificates)
        .map(|files| files.certificate.as_path())
        .collect();
    files.sort_unstable();
    files.dedup();
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default();
    files
        .into_iter()
        .filter_map(|file| warning(file, now))
        .collect()
}

fn warning(file: &Path, now: Duration) -> Option<String> {
    let found = read_certificates("SSLCertificateFile", file).ok()?;
    let (_, certificate) = X509Certificate::from_der(found.first()?).ok()?;
    let times = certificate.validity();
    let told = |what: &str| Some(format!("SSLCertificateFile {}: it {what}", file.display()));
    let (begin, end) = (times.not_before.timestamp(), times.not_after.timestamp());
    let seconds = now.as_secs() as i64;
    match () {
        () if end < seconds => told(&format!(
            "expired on {}; browsers refuse it",
            times.not_after
        )),
        () if begin > seconds => told(&format!("is not valid before {}", times.not_before)),
        () if end - seconds < SOON.as_secs() as i64 => {
            told(&format!("expires on {}", times.not_after))
        }
        () => None,
    }
}
