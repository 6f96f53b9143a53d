//! `mehari certificate`: makes a self-signed certificate, to try out TLS.
//!
//! Certificate and key are written into one file that only its owner can read. `mehari serve
//! --listen https://...` also makes and keeps a certificate if there is none.

use super::arguments;
use clap::{Parser, Subcommand};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod revoke;

/// The validity in days. Browsers refuse certificates that are valid for more than 398 days.
const DAYS: i64 = 397;

#[derive(Parser)]
#[command(
    name = "mehari certificate",
    about = "Makes a certificate for this machine, to try TLS; revokes a certificate of an authority",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "Examples:\n  mehari certificate\n  mehari certificate --out site.pem www.example.test 192.0.2.7\n  \
                  mehari certificate revoke www.example.org --reason key-compromise\n\n\
                  Certificate and key go into one file, for SSLCertificateFile or `mehari serve --certificate`.\n\
                  No authority has signed the certificate. A browser therefore warns, and curl needs --cacert FILE."
)]
pub struct Options {
    /// Host names and addresses. By default: localhost, 127.0.0.1 and ::1.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The file to write. An existing file is not overwritten.
    #[arg(long, value_name = "FILE", default_value = "localhost.pem")]
    out: PathBuf,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Has the authority revoke a certificate of the running server
    ///
    /// The server requests a new certificate, uses it, and then has the old one revoked.
    Revoke(revoke::Revocation),
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari certificate", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    if let Some(What::Revoke(options)) = options.what {
        return revoke::run(&options);
    }
    match write(&options.out, options.names) {
        Ok(()) => {
            sayln!("{}", options.out.display());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("mehari certificate: {reason}");
            ExitCode::from(1)
        }
    }
}

/// Returns the folder of this user's certificates.
pub fn folder() -> Result<PathBuf, String> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let folder = data.filter(|path| path.is_absolute()).or_else(home);
    let folder = folder.ok_or("there is no HOME to keep certificates in: expected HOME")?;
    Ok(folder.join("mehari"))
}

/// Returns the file of the user's certificate for localhost. Makes a certificate if there is none.
pub fn local() -> Result<PathBuf, String> {
    let folder = folder()?;
    let file = folder.join("localhost.pem");
    if is_fresh(&file) {
        return Ok(file);
    }
    let made = std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    made.map_err(|error| format!("{}: {error}", folder.display()))?;
    let _ = std::fs::remove_file(&file);
    write(&file, Vec::new())?;
    Ok(file)
}

/// Returns whether the certificate is valid for about 30 more days.
fn is_fresh(file: &Path) -> bool {
    let modified = std::fs::metadata(file).and_then(|meta| meta.modified());
    let age = modified.ok().and_then(|time| time.elapsed().ok());
    age.is_some_and(|age| age.as_secs() < (DAYS as u64 - 30) * 86_400)
}

fn write(file: &Path, names: Vec<String>) -> Result<(), String> {
    let text = make(names)?;
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file);
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

fn make(mut names: Vec<String>) -> Result<String, String> {
    if names.is_empty() {
        names = ["localhost", "127.0.0.1", "::1"].map(String::from).to_vec();
    }
    let first = names[0].clone();
    let failed = |error: rcgen::Error| format!("expected host names and addresses: {error}");
    let mut parameters = CertificateParams::new(names).map_err(failed)?;
    parameters
        .distinguished_name
        .push(DnType::CommonName, first);
    parameters.not_before = time::OffsetDateTime::now_utc() - time::Duration::days(1);
    parameters.not_after = parameters.not_before + time::Duration::days(DAYS);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    Ok(certificate.pem() + &key.serialize_pem())
}
