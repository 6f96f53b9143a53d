//! Tests handlers that belong to the start and end of processes, and Perl code in the
//! configuration.

use super::*;

#[test]
fn handlers_of_process_phases_run_in_zygote_and_worker() {
    let module = r#"
our @life;
sub open_logs   { push @life, 'openlogs ' . @_; 0 }
sub post_config { push @life, 'postconfig ' . @_; 0 }
sub child_init  { push @life, 'childinit ' . @_; 0 }
sub child_exit  { print STDERR "child exit of $$\n"; 0 }
sub handler     { $_[0]->print(join ' ', @life); 0 }
"#;
    let conf = "PerlModule Life\nPerlOpenLogsHandler Life::open_logs\nPerlPostConfigHandler Life::post_config\n\
        PerlChildInitHandler Life::child_init\nPerlChildExitHandler Life::child_exit\n\
        <Location /life>\nSetHandler modperl\nPerlResponseHandler Life\n</Location>\n";
    let server = one_worker(&[("Life", module)], conf).start();
    assert_eq!(
        server.get("/life").expect(200),
        "openlogs 4 postconfig 4 childinit 2"
    );
    assert!(server.control(&["reload"]).status.success());
    assert!(eventually(PATIENCE, || server.log.count("child exit of") == 1));
}

#[test]
fn a_post_config_handler_that_does_not_answer_ok_stops_the_start() {
    let module = "sub handler { return 500 }";
    let conf = "PerlPostConfigHandler Refuse\n";
    let log = one_worker(&[("Refuse", module)], conf)
        .try_start()
        .err()
        .expect("no start");
    let line = "PerlPostConfigHandler `Refuse` answered 500; expected 0";
    assert!(log.text().contains(line), "{}", log.text());
}

#[test]
fn line_of_a_start_up_file_has_its_level() {
    let file = "use Apache2::ServerUtil ();\nuse Apache2::Log ();\nmy $s = Apache2::ServerUtil->server;\n\
        $s->log->debug('a detail');\nApache2::ServerRec->log->info('a fact');\n$s->warn(\"an oddity\\nof two lines\");\n\
        print STDERR 'begun';\n$s->log_error('a fault');\nwarn \"a warning\\n\";\n1;\n";
    let server = one_worker(&[], "LogLevel info\nPerlRequire @ROOT@/begin.pl\n")
        .file("begin.pl", file)
        .start();
    for (level, text) in [
        ("info", "a fact"),
        ("warn", "an oddity"),
        ("warn", "of two lines"),
        ("error", "begun"),
        ("error", "a fault"),
        ("error", "a warning"),
    ] {
        let line = server.log.expect(text);
        assert!(line.contains(&format!("[{level}] ")), "{line}");
    }
    assert_eq!(server.log.count("a detail"), 0);
}

#[test]
fn perl_sections_make_directives_in_their_place() {
    let module = "sub handler { my $r = shift; $r->print(join ' ', map { $ENV{$_} // 'none' } qw(COLOUR SIZE)); 0 }\n\
        sub named { $_[0]->print($Made::name // 'no name'); 0 }\n";
    let conf = r#"PerlModule Made
<Perl>
use strict;
$Made::name = "section of " . (caller(0))[3];
our %Location;
for my $colour (qw(red green)) {
    $Location{"/$colour"} = {
        SetHandler => 'perl-script',
        PerlResponseHandler => 'Made',
        PerlSetEnv => [[ COLOUR => $colour ], [ SIZE => '"12 pt"' ]],
    };
}
our @PerlConfig = ('<Location /named>', 'SetHandler modperl', 'PerlHandler Made::named', '</Location>');
</Perl>
<Perl>
Apache2::ServerUtil->server->add_config(['<Location /added>', "SetHandler modperl\nPerlHandler \"sub { \$_[0]->print('added'); 0 }\"", '</Location>']);
</Perl>
"#;
    let server = one_worker(&[("Made", module)], conf).start();
    assert_eq!(server.get("/named").expect(200), "section of (eval)");
    assert_eq!(server.get("/added").expect(200), "added");
    assert_eq!(server.get("/red").expect(200), "red 12 pt");
    assert_eq!(server.get("/green").expect(200), "green 12 pt");
}

#[test]
fn error_in_a_perl_section_is_reported_with_its_line() {
    let conf = "<Perl>\n$Listen = 'eighty';\n</Perl>\n<Perl>\n\n  die qq{no good};\n</Perl>\n<Perl>\n1 +;\n</Perl>\n";
    let log = one_worker(&[], conf).try_start().err().expect("no start");
    for line in [
        "(in `Listen eighty`)",
        "no good at",
        "httpd.conf line 13.",
        "syntax error at",
        "httpd.conf line 16",
    ] {
        assert!(log.text().contains(line), "{line}: {}", log.text());
    }
}
