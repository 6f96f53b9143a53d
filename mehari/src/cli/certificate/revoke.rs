//! `mehari certificate revoke`: has a running server revoke the certificate of a managed domain,
//! through the control socket.

use crate::cli::control;
use clap::{Args, ValueEnum};
use mehari_acme::message::{Reason, Wish};
use std::process::ExitCode;

#[derive(Args)]
pub struct Revocation {
    /// A host name of the managed domain, as `mehari status` shows it.
    #[arg(value_name = "NAME")]
    name: String,
    /// Why the certificate is revoked.
    #[arg(long, value_enum, default_value_t = Why::Unspecified, value_name = "REASON")]
    reason: Why,
    /// Revoke the certificate before a new one is in use. Until the new certificate is in use,
    /// clients get the revoked one.
    #[arg(long)]
    at_once: bool,
    #[command(flatten)]
    control: control::Options,
}

/// The reasons of RFC 5280 section 5.3.1 that the holder of a certificate can give.
#[derive(Clone, Copy, ValueEnum)]
enum Why {
    /// no reason is given
    Unspecified,
    /// somebody else may have the key
    KeyCompromise,
    /// the names' owner has changed
    AffiliationChanged,
    /// another certificate is in use
    Superseded,
    /// the names are not served any more
    CessationOfOperation,
}

pub fn run(options: &Revocation) -> ExitCode {
    let name = match mehari_config::managed_name(&options.name) {
        Ok(name) => name,
        Err(reason) => {
            eprintln!("mehari certificate revoke: {reason}");
            return ExitCode::from(2);
        }
    };
    let wish = Wish {
        domain: name,
        reason: match options.reason {
            Why::Unspecified => Reason::Unspecified,
            Why::KeyCompromise => Reason::KeyCompromise,
            Why::AffiliationChanged => Reason::AffiliationChanged,
            Why::Superseded => Reason::Superseded,
            Why::CessationOfOperation => Reason::CessationOfOperation,
        },
        is_at_once: options.at_once,
    };
    let wish = serde_json::to_string(&wish).expect("a wish is JSON");
    let line = format!("revoke {wish}");
    control::run_as(
        "certificate revoke",
        &line,
        &options.control,
        control::message,
    )
}
