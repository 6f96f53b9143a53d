//! Tests that a script's BEGIN blocks run as often as under Apache with mod_perl: once in each
//! process that compiles the script, and never in a trial run.

use mehari_harness::scripts::{plain, workers};
use mehari_harness::{Builder, Rung, Server};

/// Appends a letter to a file in the logs directory.
const NOTE: &str = "sub note { my ($file) = __FILE__ =~ m{(.*)/(?:scripts|own)/};\n\
    open my $out, '>>', \"$file/logs/noted\" or die \"$file: $!\"; syswrite $out, $_[0]; return $_[0] }\n";

const REQUESTS: usize = 3;

fn site() -> Builder {
    let with_note = |text: &str| plain(&format!("{NOTE}{text}"));
    Server::builder()
        .file(
            "own/Noted.pm",
            &format!("package Noted;\n{NOTE}note('m');\nsub say_so {{ 'loaded' }}\n1;\n"),
        )
        .file(
            "scripts/begin.pl",
            &with_note("BEGIN { note('b') } print 'ok';"),
        )
        .file(
            "scripts/constant.pl",
            &with_note("use constant WORD => note('c'); print WORD;"),
        )
        .file(
            "scripts/module.pl",
            &plain("use lib '@ROOT@/own'; use Noted; print Noted::say_so();"),
        )
        .fill_in(&["scripts/module.pl"], &[])
        .conf(&workers(1))
}

/// Sends requests for a script and returns the letters that the script has noted.
fn noted(server: &Server, url: &str) -> String {
    let _ = std::fs::remove_file(server.site.path("logs/noted"));
    for _ in 0..REQUESTS {
        server.get(url).expect(200);
    }
    server.site.read("logs/noted")
}

#[test]
fn script_is_compiled_once_by_each_process_that_needs_it() {
    let server = site().ladder().start();
    for (script, letter) in [("begin.pl", "b"), ("constant.pl", "c"), ("module.pl", "m")] {
        for rung in Rung::ALL {
            let times = match rung {
                Rung::Cgi | Rung::Fork | Rung::Rewind | Rung::Auto => REQUESTS,
                Rung::PerlRun if script != "module.pl" => REQUESTS,
                // A module stays loaded, so the rung that runs second in the same worker does not
                // load it again.
                Rung::Registry if script == "module.pl" => 0,
                Rung::PerlRun | Rung::Registry => 1,
            };
            let found = noted(&server, &rung.url(script));
            assert_eq!(found, letter.repeat(times), "{script} on {}", rung.name());
        }
    }
}

#[test]
fn script_compiled_before_the_fork_is_not_compiled_again() {
    let server = site()
        .ladder()
        .conf("PerlPreloadScript registry @ROOT@/scripts/begin.pl\nPerlPreloadScript fork @ROOT@/scripts/constant.pl\n")
        .start();
    assert_eq!(server.site.read("logs/noted"), "b");
    assert_eq!(noted(&server, "/registry/begin.pl"), "");
    assert_eq!(noted(&server, "/fork/constant.pl"), "c".repeat(REQUESTS));
}

const LOADER: &str = "\
<Perl>
use ModPerl::RegistryLoader ();
ModPerl::RegistryLoader->new->handler('/registry/begin.pl', '@ROOT@/scripts/begin.pl');
</Perl>
";

/// The section itself runs twice: in the process that collects its lines, and in the zygote.
#[test]
fn script_that_a_section_compiles_is_compiled_once() {
    let server = site().ladder().conf(LOADER).start();
    assert_eq!(server.site.read("logs/noted"), "b");
    assert_eq!(noted(&server, "/registry/begin.pl"), "");
}
