//! Tests the books' timers and profilers in a server.

use crate::ONE_WORKER;
use mehari_harness::{Rung, Server};

fn folder_under(conf: &str) -> Server {
    Server::builder()
        .fixtures("printed")
        .conf(ONE_WORKER)
        .conf("Alias /perl/ @ROOT@/scripts/\n")
        .conf(conf)
        .start()
}

const REGISTRY: &str = "\
<Location /perl>
    SetHandler perl-script
    PerlHandler Apache::Registry
    Options +ExecCGI
    Require all granted
";

#[test]
fn time_of_each_request_is_logged() {
    let conf = format!("{REGISTRY}    PerlFixupHandler Apache::Timeit\n</Location>\n");
    let server = folder_under(&conf);
    for _ in 0..2 {
        server.get("/perl/heavy.pl").expect(200);
    }
    let line = server.log.expect("timing request for /perl/heavy.pl: ");
    assert!(
        line.contains(" wallclock secs ( ") && line.contains(" CPU)"),
        "{line}"
    );
}

#[test]
fn comparison_of_the_wrong_kind_is_explained_in_the_log() {
    let server = Server::builder()
        .fixtures("printed")
        .conf(ONE_WORKER)
        .conf("PerlSwitches -w\n")
        .ladder()
        .start();
    // The pragma warns about a line only once in the life of a process.
    for rung in [Rung::Registry, Rung::PerlRun, Rung::Cgi] {
        server.get(&rung.url("diagnostics.pl")).expect(200);
    }
    server.log.expect("isn't numeric in numeric eq");
    server
        .log
        .expect("The indicated string was fed as an argument");
}

/// The book's configuration. The defined names decide what is loaded.
const BEHIND_DEFINES: &str = "\
    <IfDefine PERLDPROF>
        PerlModule Apache::DProf
    </IfDefine>
    <IfDefine PERLSMALLPROF>
        PerlFixupHandler Apache::SmallProf
    </IfDefine>
</Location>
<Perl>
if (Apache->define('PERLSMALLPROF')) {
    require Apache::DB;
    Apache::DB->init;
}
</Perl>
";

#[test]
fn profilers_that_are_not_asked_for_are_not_loaded() {
    let conf = format!("{REGISTRY}{BEHIND_DEFINES}");
    let server = folder_under(&conf);
    assert_eq!(server.get("/perl/simple_test.pl").expect(200), "Hello\n");
    let asked = Server::builder()
        .fixtures("printed")
        .conf(&format!("Define PERLSMALLPROF\n{REGISTRY}{BEHIND_DEFINES}"))
        .try_start();
    let Err(log) = asked else {
        panic!("it started without Apache::DB");
    };
    let text = log.text();
    assert!(text.contains("Can't locate Apache/DB.pm"), "{text}");
}
