//! Perl's handlers in the phases of a request: their order, what their answers mean, what follows the response.
//!
//! Where mod_perl does the same, the expectation was checked against it (`MEHARI_TESTS_AGAINST=apache2`).

use mehari_harness::{eventually, Builder, Request, Server, PATIENCE};

/// A handler for each phase that writes its name into the request's notes, and one that shows them.
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

/// What the log and cleanup handlers noted since the last look.
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

/// A site with one worker, `lib` in @INC and these modules.
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

#[test]
fn handlers_are_named_in_all_of_mod_perls_ways() {
    let module = r#"
sub handler     { $_[0]->print('module'); 0 }
sub named       { $_[0]->print('sub'); 0 }
sub by_class    { my ($class, $r) = @_; $r->print("$class method"); 0 }
sub attributed : method { my ($class, $r) = @_; $r->print("$class attribute"); 0 }
our $object = bless { name => 'object' }, 'Ways';
sub by_object   { my ($self, $r) = @_; $r->print("$self->{name} method"); 0 }
"#;
    let mut conf = String::from("PerlModule Ways\n");
    let ways = [
        ("module", "Ways", "module"),
        ("sub", "Ways::named", "sub"),
        ("class", "Ways->by_class", "Ways method"),
        ("attribute", "Ways::attributed", "Ways attribute"),
        ("object", "$Ways::object->by_object", "object method"),
        (
            "anonymous",
            "\"sub { $_[0]->print('anonymous'); 0 }\"",
            "anonymous",
        ),
        ("plus", "+Ways::named", "sub"),
    ];
    for (place, written, _) in ways {
        conf.push_str(&format!(
            "<Location /{place}>\nSetHandler modperl\nPerlHandler {written}\n</Location>\n"
        ));
    }
    let server = one_worker(&[("Ways", module)], &conf).start();
    for (place, _, answer) in ways {
        assert_eq!(server.get(&format!("/{place}")).text(), answer, "{place}");
    }
}

#[test]
fn stacked_handlers_and_merging_follow_mod_perl() {
    let module = r#"
sub add  { my ($r, $what) = @_; my $n = $r->notes->get('seen') // ''; $r->notes->set(seen => "$n$what"); -1 }
sub a    { add(shift, 'a') }
sub b    { add(shift, 'b') }
sub c    { add(shift, 'c'); 0 }
sub push_c { my $r = shift; $r->push_handlers(PerlFixupHandler => \&c); add($r, 'p') }
sub set_b  { my $r = shift; $r->set_handlers(PerlResponseHandler => ['Stack::say', sub { die }]); add($r, 's') }
sub list   { my $r = shift; $r->print(join ',', map { ref || $_ } @{ $r->get_handlers('PerlFixupHandler') }); 0 }
sub say  { my $r = shift; $r->print($r->notes->get('seen') // 'none'); 0 }
sub decline { add($_[0], 'd') }
"#;
    let conf = "PerlModule Stack\n\
        PerlFixupHandler Stack::a\n\
        <Location />\nSetHandler modperl\nPerlResponseHandler Stack::say\n</Location>\n\
        <Location /two>\nPerlFixupHandler Stack::a Stack::b\nPerlFixupHandler Stack::c\n</Location>\n\
        <Location /merged>\nPerlOptions +MergeHandlers\nPerlFixupHandler Stack::b\n</Location>\n\
        <Location /pushed>\nPerlFixupHandler Stack::push_c Stack::b\n</Location>\n\
        <Location /set>\nPerlFixupHandler Stack::set_b\n</Location>\n\
        <Location /declined>\nPerlResponseHandler Stack::decline Stack::decline Stack::say\n</Location>\n\
        <Location /list>\nPerlFixupHandler Stack::push_c\nPerlResponseHandler Stack::list\n</Location>\n";
    let server = one_worker(&[("Stack", module)], conf).start();
    for (place, seen) in [
        ("/", "a"),
        ("/two", "abc"),
        ("/merged", "ab"),
        ("/pushed", "pbc"),
        ("/set", "s"),
        ("/declined", "add"),
        ("/list", "CODE,CODE"),
    ] {
        assert_eq!(server.get(place).expect(200), seen, "{place}");
    }
}

#[test]
fn handlers_of_the_servers_life_run_in_zygote_and_worker() {
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
fn what_is_wrong_in_a_perl_section_is_told_with_its_line() {
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

#[test]
fn requests_lead_on_within_the_worker() {
    let module = r#"
use Apache2::SubRequest ();
use Apache2::Response ();
sub trans { my $r = shift; $r->uri($1) if $r->uri =~ m{^/moved(/.*)}; -1 }
sub file  { my $r = shift; return -1 unless $r->uri eq '/chosen'; $r->filename($r->document_root . '/plain.txt'); 0 }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('[', $r->uri, ' ', $r->args // '', ']'); 0 }
sub redirect { my $r = shift; $r->internal_redirect('/say?from=' . substr $r->uri, 1); 0 }
sub loop  { my $r = shift; $r->internal_redirect('/loop'); 0 }
sub tofile { my $r = shift; $r->internal_redirect('/plain.txt'); 0 }
sub sub_request {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('before ');
    my $status = $r->lookup_uri($r->args)->run;
    $r->print(" after $status");
    0;
}
sub look {
    my $r = shift;
    my $subr = $r->lookup_uri($r->args);
    $r->content_type('text/plain');
    $r->print(join ' ', ref $subr, $subr->uri, $subr->filename =~ m{([^/]*)$}, $subr->status, $subr->handler, $subr->main->uri);
    0;
}
sub deep { my $r = shift; $r->print('.'); my $status = $r->lookup_uri('/deep')->run; $r->print($status) if $status; 0 }
sub forbid { 403 }
sub missing { my $r = shift; $r->custom_response(404, '/document?for=404'); 404 }
sub fails { die "as told\n" }
sub document { my $r = shift; $r->content_type('text/plain'); my $prev = $r->prev; $r->print('document for ', $prev->uri, ' ', $prev->notes->get('error-notes') // '', $ENV{REDIRECT_STATUS} // ''); 0 }
"#;
    let conf = r#"PerlModule Lead
PerlTransHandler Lead::trans Lead::file
ErrorDocument 500 /document
<Location /say>
SetHandler modperl
PerlHandler Lead::say
</Location>
<Location /redirect>
SetHandler modperl
PerlHandler Lead::redirect
</Location>
<Location /deep>
SetHandler modperl
PerlHandler Lead::deep
</Location>
<Location /loop>
SetHandler modperl
PerlHandler Lead::loop
</Location>
<Location /tofile>
SetHandler modperl
PerlHandler Lead::tofile
</Location>
<Location /sub>
SetHandler modperl
PerlHandler Lead::sub_request
</Location>
<Location /look>
SetHandler modperl
PerlHandler Lead::look
</Location>
<Location /forbidden>
PerlAccessHandler Lead::forbid
</Location>
<Location /missing>
SetHandler modperl
PerlHandler Lead::missing
</Location>
<Location /fails>
SetHandler modperl
PerlHandler Lead::fails
</Location>
<Location /document>
SetHandler perl-script
PerlHandler Lead::document
</Location>
Alias /scripts @ROOT@/scripts
<Directory @ROOT@/scripts>
SetHandler perl-script
PerlHandler ModPerl::Registry
PerlOptions +ParseHeaders
Options +ExecCGI
</Directory>
"#;
    let server = one_worker(&[("Lead", module)], conf)
        .file("htdocs/plain.txt", "plain\n")
        .file(
            "scripts/hello.pl",
            "print qq{Content-Type: text/html\\n\\nhello from a script};\n",
        )
        .start();
    for (target, status, text) in [
        ("/moved/say?a=1", 200, "[/say a=1]"),
        ("/moved/plain.txt", 200, "plain\n"),
        ("/moved/none.txt", 404, ""),
        ("/chosen", 200, "plain\n"),
        ("/redirect", 200, "[/say from=redirect]"),
        ("/tofile", 200, "plain\n"),
        ("/sub?/say", 200, "before [/say ] after 0"),
        ("/sub?/plain.txt", 200, "before plain\n after 0"),
        (
            "/sub?/scripts/hello.pl",
            200,
            "before hello from a script after 0",
        ),
        ("/sub?/none.txt", 200, "before  after 404"),
        ("/deep", 200, "...........500"),
        ("/sub?/forbidden/x", 200, "before  after 403"),
        (
            "/look?/plain.txt",
            200,
            "Apache2::SubRequest /plain.txt plain.txt 200 default-handler /look",
        ),
        (
            "/look?/forbidden/x",
            200,
            "Apache2::SubRequest /forbidden/x x 403 default-handler /look",
        ),
        ("/missing", 404, "document for /missing 404"),
        ("/fails", 500, "document for /fails as told\n500"),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, status, "{target}: {}", answer.text());
        assert!(
            answer.text().starts_with(text),
            "{target}: {}",
            answer.text()
        );
    }
    assert_eq!(server.get("/loop").status, 500);
    assert_eq!(server.get("/say").expect(200), "[/say ]");
}

#[test]
fn handlers_decide_who_answers_at_run_time() {
    let module = r#"
sub fixup { my $r = shift; $r->handler('modperl'); $r->set_handlers(PerlResponseHandler => \&say); 0 }
sub other { my $r = shift; $r->filename($r->document_root . '/other.txt'); $r->headers_out->set('X-Other' => 'yes'); 0 }
sub typed { my $r = shift; $r->content_type('text/x-perl'); 0 }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('said'); 0 }
sub deny  { my $r = shift; $r->err_headers_out->set('X-Why' => 'because'); $r->headers_out->set('X-Not' => 1); 403 }
sub away  { my $r = shift; $r->headers_out->set(Location => 'http://example.org/there'); 302 }
sub told  { my $r = shift; $r->custom_response(403, 'told in person'); 403 }
sub decline { -1 }
"#;
    let conf = "PerlModule Who\n\
        <Location /plain.txt>\nPerlFixupHandler Who::fixup\n</Location>\n\
        <Location /first.txt>\nPerlFixupHandler Who::other\n</Location>\n\
        <Location /typed.txt>\nPerlTypeHandler Who::typed\n</Location>\n\
        <Location /deny>\nPerlAccessHandler Who::deny\n</Location>\n\
        <Location /away>\nPerlAccessHandler Who::away\n</Location>\n\
        <Location /told>\nPerlAccessHandler Who::told\n</Location>\n\
        <Location /declined.txt>\nSetHandler modperl\nPerlResponseHandler Who::decline\n</Location>\n";
    let server = ["plain", "first", "typed", "other", "declined"]
        .iter()
        .fold(one_worker(&[("Who", module)], conf), |builder, name| {
            builder.file(&format!("htdocs/{name}.txt"), &format!("the {name}\n"))
        })
        .start();
    assert_eq!(server.get("/plain.txt").expect(200), "said");
    let other = server.get("/first.txt");
    assert_eq!(other.expect(200), "the other\n");
    assert_eq!(other.field("x-other").as_deref(), Some("yes"));
    let typed = server.get("/typed.txt");
    assert_eq!(typed.expect(200), "the typed\n");
    assert_eq!(typed.field("content-type").as_deref(), Some("text/x-perl"));
    let denied = server.get("/deny");
    assert_eq!(
        (denied.status, denied.field("x-why").as_deref()),
        (403, Some("because"))
    );
    assert_eq!(denied.field("x-not"), None);
    let away = server.get("/away");
    assert_eq!(away.status, 302);
    assert_eq!(
        away.field("location").as_deref(),
        Some("http://example.org/there")
    );
    assert_eq!(server.get("/told").expect(403), "told in person");
    assert_eq!(server.get("/declined.txt").expect(200), "the declined\n");
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
fn perl_and_the_front_decide_together_who_may_ask() {
    let module = r#"
use MIME::Base64 ();
use Apache2::Access ();
sub authen {
    my $r = shift;
    my ($given) = ($r->headers_in->get('Authorization') // '') =~ /^Basic (.*)/ or return -1;
    my ($user, $password) = split /:/, MIME::Base64::decode_base64($given);
    return 401 unless $password eq 'secret';
    $r->user($user);
    return 0;
}
sub authz { my $r = shift; $r->user eq 'ann' ? 0 : -1 }
sub group { my $r = shift; (grep { $_->{requirement} eq 'group staff' } @{ $r->requires }) && $r->user eq 'ann' ? 0 : 403 }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('hello ', $r->user // 'nobody'); 0 }
"#;
    let conf = "PerlModule Auth\n\
        <Location />\nSetHandler modperl\nPerlHandler Auth::say\nAuthType Basic\nAuthName x\n</Location>\n\
        <Location /perl>\nPerlAuthenHandler Auth::authen\nRequire valid-user\n</Location>\n\
        <Location /bob>\nPerlAuthenHandler Auth::authen\nRequire user bob\n</Location>\n\
        <Location /both>\nPerlAuthenHandler Auth::authen\nPerlAuthzHandler Auth::authz\nRequire user bob\n</Location>\n\
        <Location /group>\nPerlAuthenHandler Auth::authen\nPerlAuthzHandler Auth::group\nRequire group staff\n</Location>\n\
        <Location /open>\nPerlAuthenHandler Auth::authen\n</Location>\n\
        <Location /file>\nAuthUserFile @ROOT@/users\nPerlAuthzHandler Auth::authz\nRequire user bob\n</Location>\n";
    // `secret` by openssl passwd -apr1, for three users.
    let hash = "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/";
    let users = format!("ann:{hash}\nbob:{hash}\neve:{hash}\n");
    let server = one_worker(&[("Auth", module)], conf)
        .file("users", &users)
        .start();
    let ask = |target: &str, credentials: &str| {
        let mut request = Request::get(target);
        if !credentials.is_empty() {
            request = request.field("Authorization", &format!("Basic {credentials}"));
        }
        server.send(&request).status
    };
    let (ann, bob, eve) = ("YW5uOnNlY3JldA==", "Ym9iOnNlY3JldA==", "ZXZlOnNlY3JldA==");
    let wrong = "YW5uOndyb25n";
    for (target, credentials, status) in [
        ("/perl", ann, 200),
        ("/perl", "", 401),
        ("/perl", wrong, 401),
        ("/bob", bob, 200),
        ("/bob", ann, 401),
        ("/both", ann, 200),
        ("/both", bob, 200),
        ("/both", eve, 401),
        ("/group", ann, 200),
        ("/group", bob, 403),
        ("/open", "", 200),
        ("/file", "", 401),
        ("/file", wrong, 401),
        ("/file", ann, 200),
        ("/file", bob, 200),
        ("/file", eve, 401),
    ] {
        assert_eq!(ask(target, credentials), status, "{target} {credentials}");
    }
}

#[test]
fn perl_leads_nobody_in_where_the_client_may_not_go() {
    let module = r#"
use Apache2::SubRequest ();
use Apache2::Response ();
sub redirect { my $r = shift; $r->internal_redirect('/' . $r->args); 0 }
sub sub_request {
    my $r = shift;
    my $subr = $r->lookup_uri('/' . $r->args);
    my $status = $subr->run;
    $r->content_type('text/plain');
    $r->print(" $status");
    0;
}
sub say { my $r = shift; $r->content_type('text/plain'); $r->print('secret'); 0 }
"#;
    // `secret` by openssl passwd -apr1.
    let users = "ann:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";
    let conf = "PerlModule Lead\n\
        <LocationMatch ^/(own|far|posts|user|denied)>\nSetHandler modperl\nPerlHandler Lead::say\n</LocationMatch>\n\
        <Location /redirect>\nSetHandler modperl\nPerlHandler Lead::redirect\n</Location>\n\
        <Location /sub>\nSetHandler modperl\nPerlHandler Lead::sub_request\n</Location>\n\
        <Location /own>\nRequire ip 127.0.0.1\n</Location>\n\
        <Location /far>\nRequire ip 192.0.2.1\n</Location>\n\
        <Location /file.txt>\nRequire ip 192.0.2.1\n</Location>\n\
        <Location /denied>\nRequire all denied\n</Location>\n\
        <Location /posts>\n<Limit POST>\nRequire ip 192.0.2.1\n</Limit>\n</Location>\n\
        <Location /user>\nAuthType Basic\nAuthName x\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n";
    let server = one_worker(&[("Lead", module)], conf)
        .file("users", users)
        .file("htdocs/file.txt", "secret")
        .start();
    for (place, status) in [
        ("own", 200),
        ("far", 403),
        ("file.txt", 403),
        ("denied", 403),
        ("posts", 200),
        ("user", 401),
    ] {
        assert_eq!(
            server.get(&format!("/redirect?{place}")).status,
            status,
            "redirect to {place}"
        );
        let told = server.get(&format!("/sub?{place}"));
        let expected = match status {
            200 => "secret 0".to_string(),
            refused => format!(" {refused}"),
        };
        assert_eq!(told.expect(200), expected, "sub-request of {place}");
    }
    let posted = server.send(&Request::post("/redirect?posts", "a body"));
    assert_eq!(posted.status, 403);
    // A password that was looked at for this client lately is known.
    let with_password =
        |target: &str| Request::get(target).field("Authorization", "Basic YW5uOnNlY3JldA==");
    assert_eq!(server.send(&with_password("/user")).status, 200);
    for target in ["/redirect?user", "/sub?user"] {
        assert_eq!(server.send(&with_password(target)).status, 200, "{target}");
    }
}

/// A filter that counts its calls, and a handler that waits for the client between two parts.
const STREAM: &str = r#"package Stream;
use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Filter ();
sub filter {
    my $f = shift;
    my $calls = $f->ctx || 0;
    while ($f->read(my $part, 1024)) { $f->print(uc $part) }
    $f->ctx(++$calls);
    $f->print(" calls $calls") if $f->seen_eos;
    return 0;
}
sub handler {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print('first ');
    $r->rflush;
    my $go = $r->args;
    for (1 .. 400) { last if -e $go; select undef, undef, undef, 0.05 }
    $r->print(-e $go ? 'second' : 'nobody came');
    return 0;
}
1;
"#;

#[test]
fn what_a_handler_flushes_passes_its_filters_at_once() {
    let server = Server::builder()
        .file("lib/Stream.pm", STREAM)
        .conf(
            "PerlSwitches -I@ROOT@/lib\n<Location /stream>\nSetHandler modperl\nPerlResponseHandler Stream\n\
             PerlOutputFilterHandler Stream::filter\n</Location>\n",
        )
        .start();
    let go = server.site.path("go");
    let mut connection = server.connect();
    connection.write(&Request::get(&format!("/stream?{}", go.display())).bytes());
    let mut came = |words: &str| {
        while !String::from_utf8_lossy(connection.unread()).contains(words) {
            assert!(
                connection.fill().expect("more") > 0,
                "the end before {words}"
            );
        }
    };
    came("FIRST ");
    std::fs::write(&go, "").expect("written");
    came("SECOND");
    came(" calls 3");
}
