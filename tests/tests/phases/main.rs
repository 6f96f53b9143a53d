//! Tests Perl handlers in the phases of a request: their order, the meaning of their results, and
//! the phases after the response.
//!
//! Where mod_perl behaves in the same way, the expectation was checked against mod_perl
//! (`MEHARI_TESTS_AGAINST=apache2`).

use mehari_harness::{eventually, needs, Builder, Request, Server, PATIENCE};

mod access;
mod added_filters;
mod admission;
mod authorization;
mod by_hand;
mod changed;
mod chosen;
mod configured_variables;
mod depth;
mod elsewhere;
mod error_pages;
mod error_variables;
mod front_answers;
mod handed_back;
mod handlers;
mod included;
mod indexes;
mod leading;
mod limits;
mod logged;
mod maps;
mod methods;
mod order;
mod outcome;
mod places;
mod proxied;
mod psgi;
mod reached;
mod said;
mod server_life;
mod sources;
mod streams;
mod subrequests;
mod translations;
mod users;

/// Returns a site with one worker, `lib` in @INC and these modules.
fn one_worker(modules: &[(&str, &str)], conf: &str) -> Builder {
    let mut builder = Server::builder().conf(ONE_WORKER);
    for (name, text) in modules {
        let head = format!(
            "package {};\nuse strict;\nuse warnings;\n{USES}",
            name.replace('/', "::")
        );
        builder = builder.file(&format!("lib/{name}.pm"), &format!("{head}{text}\n1;\n"));
    }
    builder.conf(conf)
}

const ONE_WORKER: &str = "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\nPerlSwitches -I@ROOT@/lib\n";
const USES: &str = "use Apache2::RequestRec ();\nuse Apache2::RequestIO ();\nuse Apache2::RequestUtil ();\nuse Apache2::Response ();\nuse APR::Pool ();\nuse APR::Table ();\n";
