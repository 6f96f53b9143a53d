//! Serves a folder with the front alone, without Perl, for trying the front and for measuring it.
//!
//!     cargo run --release -p mehari-front --example folder -- /srv/www 127.0.0.1:8080
//!
//! A stand-in answers for scripts, so the cost of the front's part of a script's request is
//! visible.

#[path = "../tests/stand/mod.rs"]
mod stand;

use mehari_config::LogLevel;
use mehari_front::{AccessEntry, Front, Journal, Listener, Origin, Stop};
use std::rc::Rc;
use std::sync::Arc;

struct Quiet;

impl Journal for Quiet {
    fn access(&self, _: u32, _: &AccessEntry<'_>) {}

    fn error(&self, _: u32, _: LogLevel, origin: Origin, text: &str) {
        eprintln!("{:?} {text}", origin.request);
    }
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().unwrap_or_else(|| ".".into());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    let site = Arc::new(stand::site::site(&std::path::absolute(root)?));
    let listener = Listener::from(std::net::TcpListener::bind(address)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (_stop, stopped) = tokio::sync::watch::channel(Stop::No);
    let front = Front::new(
        site,
        stand::pool::StandIn::default(),
        stand::cgi(),
        vec![listener],
        Rc::new(Quiet),
    );
    runtime.block_on(front.run(stopped))
}
