//! The programs that the references print: the example scripts of the mod_perl guide and of the
//! other references, on every rung, with their documented answers. `printed` holds the check-off
//! list; the other modules hold the longer tests.

use mehari_harness::Server;

mod children;
mod counters;
mod databases;
mod environment;
mod handlers;
mod limits;
mod memory;
mod output;
mod printed;
mod profilers;
mod scripts;
mod start_up;
mod status_pages;

/// One worker, so that state between requests is visible.
const ONE_WORKER: &str =
    "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n";
fn guide() -> Server {
    Server::builder()
        .fixtures("guide")
        .ladder()
        .conf(handlers::HANDLERS)
        .conf(ONE_WORKER)
        .start()
}
