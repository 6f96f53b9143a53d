//! `mehari docs`: serves the documents as a site on a loopback address, or writes them to a folder.

use super::arguments;
use super::browser::{self, Opening};
use clap::Parser;
use mehari_documents::Site;
use mehari_loopback::Service;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "mehari docs",
    about = "Shows the documents in a browser: search, reference, guides",
    after_help = "Examples:\n  mehari docs\n  mehari docs DocumentRoot\n  mehari docs client timeout\n  \
                  mehari docs -o folder\n\n\
                  The documents are part of the program and need no network. Ctrl-C ends the command."
)]
pub struct Options {
    /// What to look for: a directive, a heading, or words.
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Write the site into this folder. Its pages also open without a server.
    #[arg(short, long, value_name = "FOLDER", conflicts_with_all = ["words", "port", "no_browser"])]
    output: Option<PathBuf>,
    /// The port on 127.0.0.1. 0 means any free port.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Print the address, and open no browser.
    #[arg(long)]
    no_browser: bool,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: Options = match arguments::parse("mehari docs", arguments) {
        Ok(options) => options,
        Err(status) => return status,
    };
    match show(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("mehari docs: {reason}");
            ExitCode::from(1)
        }
    }
}

fn show(options: &Options) -> Result<(), String> {
    let site = Site::new();
    if let Some(folder) = &options.output {
        let count = site.write(folder)?;
        let first = folder.join("index.html");
        sayln!("mehari docs: wrote {count} pages; open {}", first.display());
        return Ok(());
    }
    let page = page(&site, &options.words.join(" "))?;
    let opening = Opening {
        command: "mehari docs",
        port: options.port,
        is_shown: !options.no_browser,
        page: &page,
    };
    browser::serve(Service::open("mehari docs", site), &opening)
}

/// Returns the page to open.
fn page(site: &Site, words: &str) -> Result<String, String> {
    if words.is_empty() {
        return Ok(String::new());
    }
    site.find(words).ok_or_else(|| {
        let near = mehari_config::nearest(words, site.titles());
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("no document has `{words}`{hint}")
    })
}
