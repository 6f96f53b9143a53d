//! `mehari cache purge URL`: removes pages from the server's response cache, through the control
//! socket.

use super::arguments;
use super::control::{message, run as ask, Options as ControlOptions};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Changes the response cache of a running server.
#[derive(Parser)]
#[command(name = "mehari cache")]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Removes pages from the cache
    #[command(after_help = "Example:\n  mehari cache purge 'http://www.example.org/news*'")]
    Purge {
        /// A URL, or a URL path of any host. A final `*` matches any rest. A URL without a query
        /// matches every query.
        url: String,
        #[command(flatten)]
        options: ControlOptions,
    },
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    match arguments::parse("mehari cache", arguments) {
        Ok(Options {
            what: What::Purge { url, options },
        }) => ask(&format!("purge {url}"), &options, message),
        Err(status) => status,
    }
}
