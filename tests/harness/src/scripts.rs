//! Provides scripts for many tests, and the configuration of a fixed number of workers.

use crate::client::Connection;
use crate::Request;
use crate::{eventually, Builder, Rung, Server, PATIENCE};

/// The first lines of a script that answers plain text.
pub const HEADER: &str = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\";\n";

/// Returns a script that prints a plain text header and then runs `body`.
pub fn plain(body: &str) -> String {
    format!("{HEADER}{body}\n")
}

/// Perl code that waits until the test calls [`let_go`], but at most a minute.
pub const UNTIL_LET_GO: &str =
    "for (1 .. 6_000) { last if -e qq{$ENV{DOCUMENT_ROOT}/go}; select undef, undef, undef, 0.01 }";

/// Returns a shell command that waits until the test calls [`let_go`]. `root` is a variable of the
/// shell or of Perl that holds the document root.
pub fn until_let_go(root: &str) -> String {
    format!("timeout --foreground 60 sh -c \"until [ -e ${root}/go ]; do sleep 0.1; done\"")
}

/// Releases the waiting scripts.
pub fn let_go(server: &Server) {
    server.site.write("htdocs/go", "");
}

/// Configuration for scripts under `/perl`, as the mod_perl guide writes it.
pub const APACHE_REGISTRY: &str = "\
Alias /perl/ @ROOT@/scripts/
<Location /perl>
    SetHandler perl-script
    PerlHandler +Apache::Registry
    Options ExecCGI
    PerlSendHeader On
    Require all granted
</Location>
";

/// Returns configuration for exactly `count` workers from the start to the end.
pub fn workers(count: u32) -> String {
    format!(
        "StartServers {count}\nMinSpareServers {count}\nMaxSpareServers {count}\nMaxRequestWorkers {count}\n"
    )
}

const NAP: &str =
    "open my $note, '>', qq{$ENV{DOCUMENT_ROOT}/napping.$ENV{QUERY_STRING}} or die $!;\n\
    print $note $$;\nclose $note;\nselect undef, undef, undef, 2;\nprint 'rested';";

/// Returns a site that serves `hello.pl`, `pid.pl`, `echo.pl` and `nap.pl` on all rungs.
pub fn simple(count: u32) -> Builder {
    Server::builder()
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("scripts/pid.pl", &plain("print $$;"))
        .file(
            "scripts/echo.pl",
            &plain("my $b = ''; read STDIN, $b, $ENV{CONTENT_LENGTH} || 0; print $b;"),
        )
        .file("scripts/nap.pl", &plain(NAP))
        .ladder()
        .conf(&workers(count))
}

/// Sends a request for `nap.pl`, which runs for two seconds and answers `rested`. Waits until the
/// script runs. Returns the connection and the script's process number.
pub fn nap(server: &Server, rung: Rung, name: &str) -> (Connection, i32) {
    let note = format!("htdocs/napping.{name}");
    let _ = std::fs::remove_file(server.site.path(&note));
    let mut connection = server.connect();
    connection.write(&Request::get(&format!("{}?{name}", rung.url("nap.pl"))).bytes());
    let mut pid = None;
    let begun = eventually(PATIENCE, || {
        pid = server.site.read(&note).parse().ok();
        pid.is_some()
    });
    assert!(begun, "nap.pl did not begin:\n{}", server.log.text());
    (connection, pid.unwrap_or_default())
}

/// Checks that every rung answers `hello.pl` correctly.
#[track_caller]
pub fn is_well(server: &Server) {
    for rung in Rung::ALL {
        let answer = server.get(&rung.url("hello.pl"));
        assert_eq!(answer.expect(200), "Hello", "{}", rung.name());
    }
}
