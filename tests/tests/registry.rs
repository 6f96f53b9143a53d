//! Tests behaviours of ModPerl::Registry and ModPerl::PerlRun on which scripts depend.
//!
//! Each row was checked against mod_perl 2.0.12 (`MEHARI_TESTS_AGAINST=apache2`). In the rows
//! marked `better`, Mehari behaves better than mod_perl. A run against Apache skips these rows.

use mehari_harness::scripts::{workers, HEADER};
use mehari_harness::{against_apache, needs, Rung, Server};

/// A script, and the response that its first and its second request must get.
struct Row {
    name: &'static str,
    script: &'static str,
    answer: &'static str,
    /// Whether mod_perl itself fails in this row.
    better: bool,
}

const fn row(name: &'static str, script: &'static str, answer: &'static str) -> Row {
    Row {
        name,
        script,
        answer,
        better: false,
    }
}

const fn better(name: &'static str, script: &'static str, answer: &'static str) -> Row {
    Row {
        name,
        script,
        answer,
        better: true,
    }
}

/// Rows that are the same under Registry and PerlRun.
const BOTH: &[Row] = &[
    row("top-level return ends the request", "print 'a'; return; print 'b';", "a"),
    row("the request object is the first argument", "my $r = shift; print ref $r, ' ', $r->method;", "Apache2::RequestRec GET"),
    row("lexical warnings are off", "my $w = ''; local $SIG{__WARN__} = sub { $w = shift }; my $x; my $y = $x . 'a'; print \"[$w]\";", "[]"),
    row("text after __END__ is not code", "print 'a';\n__END__\nthis is (not perl\n", "a"),
    row("text after __DATA__ is not code", "print 'a';\n__DATA__\nthis is (not perl\n", "a"),
    better("DATA is read from its start each time", "print <DATA>;\n__DATA__\none\ntwo", "one\ntwo\n"),
    better("a here-document may mention __END__", "print <<X;\n__END__\nmore\nX\nprint 'a';\n", "__END__\nmore\na"),
    row("a program that has ended costs an error of print", "open my $to, '|-', 'exec true' or die; select undef, undef, undef, 0.3; $to->autoflush; my $done = print $to 'x' x 100; print $done ? 'written' : 'failed', ' ', $SIG{PIPE};", "failed IGNORE"),
    better("a handler of SIGPIPE is undone", "print ref $SIG{PIPE} || $SIG{PIPE}; $SIG{PIPE} = sub {};", "IGNORE"),
    row("exit ends the request", "print 'a'; exit 0; print 'b';", "a"),
    row("exit in a nested sub ends the request", "sub deep { exit if $_[0] == 0; deep($_[0] - 1) } print 'a'; deep(5); print 'b';", "a"),
    better("exit in an eval is not caught", "print 'a'; eval { exit 1 }; print 'b';", "a"),
    row("exit in a sort block ends the request", "print 'a'; my @x = sort { exit } 2, 1; print 'b';", "a"),
    row("the return value is ignored", "print 'a'; 500;", "a"),
    row("a die in an eval stays there", "eval { die qq{inner\\n} }; print \"caught $@\";", "caught inner\n"),
    row("changes of %ENV are undone", "print exists $ENV{DIRT} ? 'dirty' : 'clean'; $ENV{DIRT} = 1; delete $ENV{QUERY_STRING};", "clean"),
    row("QUERY_STRING is there although the last request deleted it", "print defined $ENV{QUERY_STRING} ? 'yes' : 'no'; delete $ENV{QUERY_STRING};", "yes"),
    row("changes of @INC are undone", "print scalar(grep { $_ eq '/dirt' } @INC); push @INC, '/dirt';", "0"),
    row("autoflush is undone", "print $|; $| = 1;", "0"),
    better("the input record separator is undone", "print $/ eq qq{\\n} ? 'line' : 'other'; $/ = 'x';", "line"),
    better("the output separators are undone", "print defined $, ? 1 : 0; print defined $\\ ? 1 : 0; $, = '-'; $\\ = '!';", "00"),
    better("the selected handle is STDOUT again", "print 'a'; open my $fh, '>', '/dev/null'; select $fh; print 'b';", "a"),
    better("signal handlers are undone", "print ref $SIG{__DIE__} || 'none', ref $SIG{__WARN__} || 'none'; $SIG{__DIE__} = sub {}; $SIG{__WARN__} = sub {};", "nonenone"),
    better("the working folder is undone", "use Cwd; my $here = getcwd; print $here eq '/' ? 'moved' : 'stayed'; chdir '/';", "stayed"),
    better("the umask is undone", "printf '%03o', umask; umask 0;", "022"),
    row("a closed STDOUT is open again", "print 'a'; close STDOUT;", "a"),
    row("a reopened STDOUT is the client again", "print 'a'; open STDOUT, '>', '/dev/null'; print 'b';", "a"),
    row("a local STDOUT is local", "{ local *STDOUT; open STDOUT, '>', \\my $b; print 'b' } print 'a';", "a"),
    row("a tied STDOUT catches prints until it is untied", "package T; sub TIEHANDLE { bless [] } sub PRINT { push @{ $_[0] }, $_[1] } package main; tie *STDOUT, 'T'; print 'lost'; my $n = @{ tied *STDOUT }; untie *STDOUT; print $n;", "1"),
    better("a tied STDOUT is not tied for the next request", "BEGIN { package T2; sub TIEHANDLE { bless [] } sub PRINT { } } print 'a'; tie *STDOUT, 'T2'; print 'lost';", "a"),
    row("printf, say and print keep their order", "use feature 'say'; print 'a'; printf '%s', 'b'; say 'c'; $_ = 'd'; print;", "abc\nd"),
    better("syswrite keeps its place", "print 'a'; syswrite STDOUT, 'b'; print 'c';", "abc"),
    better("format and write go to the client", "format STDOUT =\n@<<@>>\n'a', 'b'\n.\nwrite;", "a    b\n"),
    row("print to another handle stays there", "open my $fh, '>', \\my $buffer; print $fh 'x'; close $fh; print $buffer, 'y';", "xy"),
    better("a program writes to the client in its place", "print 'a'; system 'printf b'; print 'c';", "abc"),
    row("backticks are captured", "print 'a', `printf b`, 'c';", "abc"),
    better("a program sees the request's variables", "print 'a'; print `printf %s \"$ENV{REQUEST_METHOD}\\$REQUEST_METHOD\"`;", "aGETGET"),
    better("a program sees what the script put into %ENV", "$ENV{OF_SCRIPT} = 'seen'; print `printf %s \"\\$OF_SCRIPT\"`;", "seen"),
    row("an END block runs after every request", "END { print 'end' } print 'a';", "aend"),
    row("END runs after exit", "END { print 'end' } print 'a'; exit; print 'b';", "aend"),
    row("an END block sees the request", "END { print $ENV{REQUEST_METHOD} } print 'a';", "aGET"),
    better("a child that falls off the end is no second worker", "my $pid = fork; if (!$pid) { print ''; } else { waitpid $pid, 0; print 'parent'; }", "parent"),
    row("a child that execs leaves the answer alone", "my $pid = fork; if (!$pid) { open STDOUT, '>', '/dev/null'; exec 'echo', 'x'; } waitpid $pid, 0; print 'parent';", "parent"),
    row("an alarm is the script's own", "local $SIG{ALRM} = sub { die qq{rang\\n} }; eval { alarm 1; select undef, undef, undef, 5 }; print $@;", "rang\n"),
    row("local of a global is undone", "our $g; print defined $g ? 'set' : 'unset'; local $g = 1;", "unset"),
    row("string eval sees the script's lexicals", "my $x = 3; print eval '$x + 1';", "4"),
    row("wide characters through a layer", "binmode STDOUT, ':utf8'; print chr 0x263A;", "\u{263A}"),
    better("a layer on STDOUT is gone for the next request", "print chr 0xE9 eq qq{\\xE9} ? 'a' : 'b'; print scalar(grep { /utf8/ } PerlIO::get_layers(*STDOUT)); binmode STDOUT, ':utf8';", "a0"),
    row("a body that starts with a NUL", "print qq{\\0a};", "\0a"),
    row("a script may define a sub of any name", "sub render { return 'rendered' } print render();", "rendered"),
];

fn both_server() -> Server {
    let mut builder = Server::builder().ladder().conf(&workers(1));
    for (number, row) in BOTH.iter().enumerate() {
        let text = format!("{HEADER}{}\n", row.script);
        builder = builder.file(&format!("scripts/row{number}.pl"), &text);
    }
    builder.start()
}

#[test]
fn scripts_find_mod_perls_behaviours_under_registry_and_perlrun() {
    let server = both_server();
    let mut wrong = Vec::new();
    for (number, row) in BOTH.iter().enumerate() {
        if row.better && against_apache() {
            continue;
        }
        for rung in Rung::SHARED {
            for time in 1..=2 {
                let answer = server.get(&rung.url(&format!("row{number}.pl")));
                if answer.status != 200 || answer.text() != row.answer {
                    wrong.push(format!(
                        "{} ({}, time {time}): {} {:?} instead of {:?}",
                        row.name,
                        rung.name(),
                        answer.status,
                        answer.text(),
                        row.answer
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Rows that differ: Registry keeps a value, and PerlRun discards it.
const KEPT: &[(&str, &str, [&str; 2], [&str; 2])] = &[
    (
        "a package variable",
        "our $n; print ++$n;",
        ["1", "2"],
        ["1", "1"],
    ),
    (
        "a hash of the package",
        "our %h; $h{$$}++; print $h{$$};",
        ["1", "2"],
        ["1", "1"],
    ),
    (
        "a lexical in a named sub",
        "my $x = 0; sub up { print ++$x } up();",
        ["1", "2"],
        ["1", "1"],
    ),
    (
        "BEGIN runs at each compilation",
        "our $b; BEGIN { $b .= 'b' } print $b; $b = '';",
        ["b", ""],
        ["b", "b"],
    ),
    (
        "a module's variable",
        "use Kept; print ++$Kept::count;",
        ["1", "2"],
        ["3", "4"],
    ),
];

#[test]
fn registry_keeps_package_variables_and_perlrun_flushes_them() {
    let mut builder = Server::builder()
        .conf("PerlSwitches -I@ROOT@/lib\n")
        .ladder()
        .conf(&workers(1))
        .file("lib/Kept.pm", "package Kept; our $count = 0; 1;\n");
    for (number, row) in KEPT.iter().enumerate() {
        builder = builder.file(
            &format!("scripts/kept{number}.pl"),
            &format!("{HEADER}{}\n", row.1),
        );
    }
    let server = builder.start();
    for (number, (name, _, registry, perlrun)) in KEPT.iter().enumerate() {
        for (rung, expected) in [(Rung::Registry, registry), (Rung::PerlRun, perlrun)] {
            for time in expected {
                let answer = server.get(&rung.url(&format!("kept{number}.pl")));
                assert_eq!(answer.expect(200), *time, "{name} ({})", rung.name());
            }
        }
    }
}

#[test]
fn scripts_of_one_name_in_two_folders_do_not_share_variables() {
    let script = format!("{HEADER}our $n; print ++$n;\n");
    let server = Server::builder()
        .file("scripts/a/count.pl", &script)
        .file("scripts/b/count.pl", &script)
        .ladder()
        .conf(&workers(1))
        .start();
    assert_eq!(server.get("/registry/a/count.pl").expect(200), "1");
    assert_eq!(server.get("/registry/b/count.pl").expect(200), "1");
    assert_eq!(server.get("/registry/a/count.pl").expect(200), "2");
}

/// CGI.pm keeps the request it parsed and its switches in package variables.
#[test]
fn state_of_cgi_pm_is_reset_for_the_next_request() {
    needs!("libcgi-pm-perl");
    let mut builder = Server::builder().ladder().conf(&workers(1));
    for (name, text) in [
        ("parse", "use CGI qw(:standard); print param('x') || 'none';"),
        ("object", "use CGI (); print CGI->new->param('x') || 'none';"),
        ("given", "use CGI (); print CGI->new({x => 'given'})->param('x'); $CGI::TABINDEX = 7;"),
        ("switch", "use CGI (); print $CGI::NPH; $CGI::NPH = 1;"),
        ("semicolons", "use CGI (); print $CGI::USE_PARAM_SEMICOLONS; $CGI::USE_PARAM_SEMICOLONS = 0;"),
        ("reload", "delete $INC{'CGI.pm'}; require CGI; print 'again';"),
        ("look", "use CGI (); print join ',', map { defined() ? $_ : '' } $CGI::Q, $CGI::QUERY_CHARSET, \
            $CGI::NPH, $CGI::TABINDEX, $CGI::USE_PARAM_SEMICOLONS, scalar(@CGI::QUERY_PARAM);"),
    ] {
        builder = builder.file(&format!("scripts/{name}.pl"), &format!("{HEADER}{text}\n"));
    }
    let server = builder.start();
    let get = |path: &str| server.get(&Rung::Registry.url(path)).expect(200);
    assert_eq!(get("look.pl"), ",,0,0,1,0");
    for (path, answer) in [
        ("parse.pl?x=1", "1"),
        ("parse.pl", "none"),
        ("object.pl?x=2", "2"),
        ("given.pl?x=3", "given"),
        ("switch.pl", "0"),
        ("semicolons.pl", "1"),
        ("reload.pl", "again"),
        ("parse.pl?x=4", "4"),
        ("switch.pl", "0"),
        ("parse.pl", "none"),
    ] {
        assert_eq!(get(path), answer, "{path}");
        assert_eq!(get("look.pl"), ",,0,0,1,0", "after {path}");
    }
}

#[test]
fn required_file_is_read_again_under_perlrun() {
    let server = Server::builder()
        .file(
            "scripts/settings.pl",
            "$color = 'red'; sub shout { uc shift } 1;\n",
        )
        .file(
            "scripts/page.pl",
            &format!("{HEADER}require '@/settings.pl'; print $color, shout('x');\n"),
        )
        .ladder()
        .conf(&workers(1))
        .start();
    let folder = server.site.path("scripts");
    let text = format!(
        "{HEADER}require '{}/settings.pl'; print $color, shout('x');\n",
        folder.display()
    );
    server.site.replace("scripts/page.pl", &text);
    for _ in 0..3 {
        assert_eq!(server.get("/perlrun/page.pl").expect(200), "redX");
    }
}

#[test]
fn worker_outlives_exit_and_die() {
    let server = Server::builder()
        .file("scripts/pid.pl", &format!("{HEADER}print $$;\n"))
        .file("scripts/exit.pl", &format!("{HEADER}exit 3;\n"))
        .file("scripts/die.pl", "die 'x';\n")
        .ladder()
        .conf(&workers(1))
        .start();
    for rung in Rung::SHARED {
        let pid = server.get(&rung.url("pid.pl")).expect(200);
        for _ in 0..20 {
            server.get(&rung.url("exit.pl")).expect(200);
            server.get(&rung.url("die.pl")).expect(500);
        }
        assert_eq!(
            server.get(&rung.url("pid.pl")).expect(200),
            pid,
            "{}",
            rung.name()
        );
    }
}
