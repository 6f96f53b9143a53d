//! Tests the guide's claim that all workers share the memory of modules that the server loads
//! before the fork. The kernel reports the sizes. The tests check only whether a size is larger or
//! smaller.

use crate::ONE_WORKER;
use mehari_harness::{needs, Rung, Server};

/// Returns a worker's shared and private kilobytes after its second request.
fn sizes(start_up: &str, target: &str) -> (u64, u64) {
    let server = Server::builder()
        .fixtures("printed")
        .file("startup.pl", &format!("{start_up}\n1;\n"))
        .ladder()
        .conf(ONE_WORKER)
        .conf("PerlRequire @ROOT@/startup.pl\n")
        .start();
    server.get(target).expect(200);
    sizes_in(&server.get(target).expect(200))
}

/// Returns the numbers in the last line of a page: shared and private kilobytes.
pub fn sizes_in(page: &str) -> (u64, u64) {
    let last = page.lines().last().unwrap_or_default();
    let mut sizes = last.split_whitespace().map(|size| size.parse());
    match (sizes.next(), sizes.next()) {
        (Some(Ok(shared)), Some(Ok(own))) => (shared, own),
        _ => panic!("no sizes in {page:?}"),
    }
}

#[test]
fn modules_loaded_before_the_fork_are_shared() {
    needs!("libcgi-pm-perl", "libdbi-perl", "libwww-perl");
    let target = "/registry/memuse.pl";
    let all = "use CGI (); use DB_File (); use LWP::UserAgent (); use Storable (); use DBI ();";
    let (shared_without, own_without) = sizes("", target);
    let (shared_with, own_with) = sizes(all, target);
    assert!(
        shared_with > shared_without,
        "{shared_with} {shared_without}"
    );
    // The modules take megabytes. A factor of two leaves room for what a request itself changes.
    assert!(own_with * 2 < own_without, "{own_with} {own_without}");
}

#[test]
fn cgi_pm_loaded_before_the_fork_is_shared() {
    needs!("libcgi-pm-perl");
    let target = "/registry/preload_cgi_pm.pl?a=1";
    let (_, own_without) = sizes("", target);
    let (_, own_with) = sizes("use CGI ();", target);
    let (_, own_compiled) = sizes("use CGI (); CGI->compile(qw(header param));", target);
    assert!(own_with < own_without, "{own_with} {own_without}");
    assert!(own_compiled < own_without, "{own_compiled} {own_without}");
}

/// perl stores the position of the last match with the variable, so the variable's page is no
/// longer shared. The guide shows this with two processes, each of which counts alone. On both
/// rungs that keep modules, a module's variable outlives the request.
#[test]
fn variable_meant_to_be_read_only_goes_on_changing() {
    for rung in Rung::ALL {
        let server = Server::builder()
            .fixtures("printed")
            .ladder()
            .conf(ONE_WORKER)
            .start();
        for time in 1..=3 {
            let seen = if Rung::SHARED.contains(&rung) {
                time
            } else {
                1
            };
            assert_eq!(
                server.get(&rung.url("share_test2.pl")).expect(200),
                format!("pos: {seen}\ndumped:     MG_LEN = {seen}\n"),
                "{}",
                rung.name()
            );
        }
        server.log.expect("STDERR is the log again");
    }
}
