//! Tests the order of the phases, the meaning of a handler's result in each phase, and the phases
//! after the response.

use super::*;

/// A module with a handler for each phase, which adds the name of the phase to the request's notes,
/// and a handler that prints these notes.
const TRAIL: &str = r#"package Trail;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::RequestUtil ();
use APR::Table ();

our @log;

sub note {
    my ($r, $phase) = @_;
    my $so_far = $r->notes->get('trail');
    $r->notes->set(trail => defined $so_far ? "$so_far $phase" : $phase);
    $r->user('somebody') if $phase eq 'authen';
    my %told = map { /(\w+)=(-?\w+)/ ? ($1 => $2) : () } split /&/, $r->args // '';
    die "$phase dies\n" if ($told{die} // '') eq $phase;
    # Who declines to say who it is, or what that user may, lets nobody in.
    return $told{$phase} // ($phase =~ /^auth/ ? 0 : -1);
}

sub post_read { note($_[0], 'postread') }
sub trans     { note($_[0], 'trans') }
sub map       { note($_[0], 'map') }
sub header    { note($_[0], 'header') }
sub access    { note($_[0], 'access') }
sub authen    { note($_[0], 'authen') }
sub authz     { note($_[0], 'authz') }
sub type      { note($_[0], 'type') }
sub fixup     { note($_[0], 'fixup') }

sub handler {
    my $r = shift;
    my $answer = note($r, 'response');
    return $answer if $answer > 0;
    $r->content_type('text/plain');
    $r->print($r->notes->get('trail'));
    return 0;
}

sub log     { my $r = shift; push @log, join ' ', $r->status, $r->notes->get('trail') // '', 'log'; 0 }
sub cleanup { push @log, 'cleanup'; 0 }
sub show    { my $r = shift; $r->content_type('text/plain'); $r->print("$$ ", join ' | ', splice @log); 0 }

1;
"#;

const ALL_PHASES: &str = "\
StartServers 1
MinSpareServers 1
MaxSpareServers 1
MaxRequestWorkers 1
PerlSwitches -I@ROOT@/lib
PerlModule Trail
PerlPostReadRequestHandler Trail::post_read
PerlTransHandler Trail::trans
PerlMapToStorageHandler Trail::map
<Location /all>
    SetHandler modperl
    AuthType Basic
    AuthName phases
    Require valid-user
    PerlHeaderParserHandler Trail::header
    PerlAccessHandler Trail::access
    PerlAuthenHandler Trail::authen
    PerlAuthzHandler Trail::authz
    PerlTypeHandler Trail::type
    PerlFixupHandler Trail::fixup
    PerlResponseHandler Trail
    PerlLogHandler Trail::log
    PerlCleanupHandler Trail::cleanup
</Location>
<Location /show>
    SetHandler modperl
    PerlResponseHandler Trail::show
</Location>
";

fn trail() -> Server {
    Server::builder()
        .file("lib/Trail.pm", TRAIL)
        .file("htdocs/plain.txt", "plain\n")
        .conf(ALL_PHASES)
        .start()
}

/// Returns the notes that the log and cleanup handlers have made since the last call.
fn noted(server: &Server) -> String {
    let text = server.get("/show").expect(200);
    let (_, notes) = text.split_once(' ').expect("a process and notes");
    notes.to_string()
}

const ORDER: &str = "postread trans map header access authen authz type fixup response";

#[test]
fn phases_run_in_apaches_order_and_log_and_cleanup_follow_the_response() {
    let server = trail();
    assert_eq!(server.get("/all").expect(200), ORDER);
    assert_eq!(noted(&server), format!("200 {ORDER} log | cleanup"));
}

#[test]
fn all_phases_of_a_request_are_one_dispatch() {
    let server = trail();
    let dispatched = || server.status()["pool"]["totals"]["requests"].as_u64();
    let before = dispatched().expect("a count");
    for _ in 0..5 {
        assert_eq!(server.get("/all").expect(200), ORDER);
    }
    assert_eq!(dispatched(), Some(before + 5));
}

#[test]
fn the_first_answer_ends_a_phase_or_the_request_as_the_phase_says() {
    let server = trail();
    for (query, status, trail) in [
        ("trans=0", 200, ORDER),
        ("access=0", 200, ORDER),
        ("access=403", 403, "postread trans map header access"),
        ("authen=401", 401, "postread trans map header access authen"),
        (
            "authz=403",
            403,
            "postread trans map header access authen authz",
        ),
        ("postread=404", 404, "postread"),
        (
            "fixup=500",
            500,
            "postread trans map header access authen authz type fixup",
        ),
        ("response=404", 404, ORDER),
        (
            "fixup=-2",
            200,
            "postread trans map header access authen authz type fixup",
        ),
        (
            "type=99",
            500,
            "postread trans map header access authen authz type",
        ),
    ] {
        let answer = server.get(&format!("/all?{query}"));
        assert_eq!(answer.status, status, "{query}");
        let expected = format!("{status} {trail} log | cleanup");
        assert_eq!(noted(&server), expected, "{query}");
    }
}

#[test]
fn a_die_in_any_phase_is_a_500_and_one_log_line() {
    let server = trail();
    for phase in ORDER.split(' ') {
        let words = format!("{phase} dies");
        assert_eq!(
            server.get(&format!("/all?die={phase}")).status,
            500,
            "{phase}"
        );
        assert!(
            eventually(PATIENCE, || server.log.count(&words) > 0),
            "{phase}"
        );
        assert_eq!(server.log.count(&words), 1, "{phase}");
        assert!(noted(&server).starts_with("500 "), "{phase}");
    }
}

#[test]
fn a_file_under_perl_phases_is_sent_by_the_front() {
    let server = trail();
    let answer = server.get("/plain.txt");
    assert_eq!(answer.expect(200), "plain\n");
    assert_eq!(answer.field("content-type").as_deref(), Some("text/plain"));
    assert_eq!(server.get("/none.txt").status, 404);
    assert_eq!(server.get("/plain.txt?trans=403").status, 403);
}

#[test]
fn the_client_has_its_answer_while_cleanup_still_runs() {
    let module = r#"
sub slow    { my ($name) = @_; sub { while (!-e "$Slow::root/go") { select undef, undef, undef, 0.01 } print STDERR "$name is over\n"; 0 } }
our $root;
sub handler {
    my $r = shift;
    $root = $r->document_root;
    $r->push_handlers(PerlCleanupHandler => slow('handler'));
    $r->pool->cleanup_register(slow('pool'));
    $r->content_type('text/plain');
    $r->print('answered');
    0;
}
"#;
    let conf = "PerlModule Slow\n<Location /slow>\nSetHandler modperl\nPerlResponseHandler Slow\n</Location>\n";
    let server = one_worker(&[("Slow", module)], conf)
        .file("htdocs/here", "")
        .start();
    assert_eq!(server.get("/slow").expect(200), "answered");
    assert_eq!(server.log.count("is over"), 0);
    server.site.write("htdocs/go", "");
    assert!(eventually(PATIENCE, || server.log.count("is over") == 2));
    let order = server.log.text();
    assert!(order.find("handler is over") < order.find("pool is over"));
}

#[test]
fn a_site_without_perl_phases_never_meets_a_worker_for_a_file() {
    let conf = "<Location /perl>\nSetHandler modperl\nPerlFixupHandler Trail::fixup\nPerlResponseHandler Trail\n</Location>\n";
    let server = one_worker(&[], conf)
        .file("lib/Trail.pm", TRAIL)
        .file("htdocs/plain.txt", "plain\n")
        .start();
    for _ in 0..3 {
        assert_eq!(server.get("/plain.txt").expect(200), "plain\n");
        assert_eq!(server.get("/none.txt").status, 404);
    }
    assert_eq!(
        server.status()["pool"]["totals"]["requests"].as_u64(),
        Some(0)
    );
    assert_eq!(server.get("/perl").expect(200), "fixup response");
    assert_eq!(
        server.status()["pool"]["totals"]["requests"].as_u64(),
        Some(1)
    );
}

#[test]
fn every_rung_may_have_perl_phases_around_it() {
    let module = r#"
our @log;
sub access { my $r = shift; push @log, 'access'; ($r->args // '') =~ /refused/ ? 403 : 0 }
sub log    { my $r = shift; push @log, 'log ' . $r->status; 0 }
sub show   { my $r = shift; $r->print(join ' ', splice @log); 0 }
"#;
    let script = "print qq{Content-Type: text/plain\\n\\n};\nread STDIN, my $body, $ENV{CONTENT_LENGTH} // 0;\nprint qq{[$body]};\n";
    let mut conf = String::from("PerlModule Around\n<Location /show>\nSetHandler modperl\nPerlHandler Around::show\n</Location>\n");
    for (place, handler) in [
        ("fork", "SetHandler perl-script\nPerlHandler Mehari::Fork"),
        (
            "perlrun",
            "SetHandler perl-script\nPerlHandler ModPerl::PerlRun",
        ),
        (
            "registry",
            "SetHandler perl-script\nPerlHandler ModPerl::Registry",
        ),
        ("cgi", "SetHandler cgi-script"),
        ("psgi", "SetHandler psgi\nPSGIApp @ROOT@/app.psgi"),
    ] {
        conf.push_str(&format!(
            "Alias /{place} @ROOT@/scripts\n<Location /{place}>\n{handler}\nPerlOptions +ParseHeaders\nOptions +ExecCGI\n\
             PerlAccessHandler Around::access\nPerlLogHandler Around::log\n</Location>\n"
        ));
    }
    let app = "sub { my $in = shift->{'psgi.input'}; $in->read(my $body, 100); [200, ['Content-Type', 'text/plain'], [qq{[$body]}]] };\n";
    let server = one_worker(&[("Around", module)], &conf)
        .file("app.psgi", app)
        .file("scripts/echo.pl", &format!("#!/usr/bin/perl\n{script}"))
        .start();
    let file = server.site.path("scripts/echo.pl");
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the script is made executable");
    for place in ["fork", "perlrun", "registry", "cgi", "psgi"] {
        let target = format!("/{place}/echo.pl");
        let answer = server.send(&Request::post(&target, "a body"));
        assert_eq!(answer.expect(200), "[a body]", "{place}");
        assert_eq!(server.get("/show").expect(200), "access log 200", "{place}");
        assert_eq!(
            server.get(&format!("{target}?refused")).status,
            403,
            "{place}"
        );
        assert_eq!(server.get("/show").expect(200), "access log 403", "{place}");
    }
}

#[test]
fn worker_that_waits_for_a_program_stays_the_only_one_while_no_request_is_queued() {
    let conf =
        "Alias /cgi @ROOT@/scripts\n<Location /cgi>\nSetHandler cgi-script\nOptions +ExecCGI\n\
         PerlLogHandler Told::log\n</Location>\n";
    // The pool looks at its number of workers several times in this second.
    let script = "#!/usr/bin/perl\nsleep 1;\nprint qq{Content-Type: text/plain\\n\\nlate};\n";
    let server = one_worker(&[("Told", "sub log { 0 }")], conf)
        .file("scripts/slow.pl", script)
        .start();
    let file = server.site.path("scripts/slow.pl");
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the script is made executable");
    let before = server.workers();
    assert_eq!(server.get("/cgi/slow.pl").expect(200), "late");
    assert_eq!(server.workers(), before);
}
