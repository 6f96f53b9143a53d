//! Tests the END block of a preloaded DBI. The server leaves the block out if it would do nothing
//! (perl/xs/script/ends.c). What a script prints must be what a new perl process prints.

use mehari_harness::fresh;
use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Request, Rung, Server};

/// Scripts in which something sees that the block runs.
const SCRIPTS: &[(&str, &str)] = &[
    ("nothing", "print 'nothing';"),
    ("own", "END { print STDOUT 'own block' }"),
    (
        "dies",
        "END { print STDOUT 'goes on' } END { die 'within' } print 'dies ';",
    ),
    (
        "clears",
        "eval { die 'before' }; END { print STDOUT \"error <$@>\" }",
    ),
    ("later", "our $asks = 1;"),
    (
        "destructor",
        "our $left = bless []; sub DESTROY { print STDOUT 'ending: ', $DBI::PERL_ENDING // 'no' }",
    ),
    (
        "error",
        "package Loud { use overload '\"\"' => sub { print STDOUT 'text '; 'x' }, bool => sub { \
         print STDOUT 'bool '; 1 } } eval { die bless [], 'Loud' };",
    ),
    (
        "message",
        "no warnings 'redefine'; *DBI::trace_msg = sub { print STDOUT 'message' };",
    ),
    (
        "driver",
        "sub Mine::disconnect_all { print STDOUT 'disconnected' } $DBI::installed_drh{Mine} = \
         bless {}, 'Mine';",
    ),
    (
        "drivers",
        "sub Mine::disconnect_all { print STDOUT 'disconnected' } no warnings 'once'; \
         *DBI::installed_drh = { Mine => bless {}, 'Mine' };",
    ),
    ("exit", "END { print STDOUT 'before'; exit 3 }"),
    (
        "child",
        "if (my $child = fork) { waitpid $child, 0 } else { print 'child '; exit } print 'parent';",
    ),
];

/// A module that is loaded before DBI, so that its block runs after DBI's.
const EARLIER: &str = "package Earlier;
END { print STDOUT 'ending: ', $DBI::PERL_ENDING // 'no' if $main::asks }
1;
";

#[test]
fn block_of_dbi_runs_where_something_sees_it() {
    mehari_harness::needs!("libdbi-perl");
    let builder = Server::builder();
    let modules = builder.folder_of("modules").display().to_string();
    let uses = format!("use lib '{modules}'; use Earlier; use DBI;");
    let mut builder = builder
        .ladder()
        .conf(&workers(1))
        .conf(&format!(
            "PerlSwitches -I{modules}\nPerlModule Earlier DBI\n"
        ))
        .env("MEHARI_REWIND_COMPARE", "1")
        .file("modules/Earlier.pm", EARLIER)
        .file(
            "scripts/trace.pl",
            &plain(&format!("{uses} DBI->trace(2); print 'trace';")),
        );
    for (name, body) in SCRIPTS {
        let script = plain(&format!("$| = 1; {uses} {body}"));
        builder = builder.file(&format!("scripts/{name}.pl"), &script);
    }
    let server = builder.start();
    for (name, _) in SCRIPTS {
        for rung in [Rung::Rewind, Rung::Auto, Rung::Fork] {
            let request = Request::get(&rung.url(&format!("{name}.pl")));
            let script = server.site.path(&format!("scripts/{name}.pl"));
            let fresh = fresh::run(&script, rung, &request).essence();
            for _ in 0..4 {
                let answer = server.send(&request).essence();
                assert_eq!(Some(answer), fresh, "{name} on {}", rung.name());
            }
        }
    }
    server.get(&Rung::Rewind.url("trace.pl")).expect(200);
    server.log.expect("-- DBI::END");
    assert_eq!(server.log.count("not as they were"), 0);
}
