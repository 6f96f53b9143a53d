//! Tests the programs that the mod_perl guide and the other references print, on every rung,
//! against their documented responses. The module `printed` holds the list of all programs. The
//! other modules hold the longer tests.

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

/// Configuration for one worker, so that state is visible from request to request.
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
