//! Tests directives of the site's own modules: their arguments, the objects that their callbacks
//! fill, and how sections are merged. The expectations were checked against mod_perl
//! (`MEHARI_TESTS_AGAINST=apache2`).

use mehari_harness::{Builder, Request, Server};

/// A module with a directive of each kind, and a handler that prints their effects.
const MODULE: &str = r#"package Site::Words;
use strict;
use warnings;
use Apache2::Const -compile => qw(OK OR_ALL RSRC_CONF ACCESS_CONF TAKE1 TAKE2 TAKE3 TAKE12 TAKE13 TAKE23 TAKE123 ITERATE ITERATE2 FLAG RAW_ARGS NO_ARGS);
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::ServerRec ();
use Apache2::Module ();
use Apache2::CmdParms ();
use Apache2::Directive ();

my @kinds = qw(TAKE1 TAKE2 TAKE3 TAKE12 TAKE13 TAKE23 TAKE123 ITERATE ITERATE2 FLAG RAW_ARGS NO_ARGS);
my @commands = map { {
    name => "Word$_", func => __PACKAGE__ . '::word', req_override => Apache2::Const::OR_ALL,
    args_how => Apache2::Const->can($_)->(), errmsg => "what $_ takes", cmd_data => lc $_,
} } @kinds;
push @commands,
    { name => 'WordPlain' },
    { name => 'WordServer', func => 'server_word', req_override => Apache2::Const::RSRC_CONF, args_how => Apache2::Const::TAKE1 },
    { name => '<WordList', func => 'list', req_override => Apache2::Const::OR_ALL, args_how => Apache2::Const::RAW_ARGS };
Apache2::Module::add(__PACKAGE__, \@commands);

sub SERVER_CREATE { my ($class, $parms) = @_; bless { kind => 'server', words => [] }, $class }
sub DIR_CREATE    { my ($class, $parms) = @_; bless { kind => 'dir ' . ($parms->path // 'none'), words => [] }, $class }
sub SERVER_MERGE  { my ($base, $add) = @_; bless { kind => "$base->{kind}+$add->{kind}", words => [@{ $base->{words} }, @{ $add->{words} }] }, ref $base }
sub DIR_MERGE     { goto &SERVER_MERGE }

sub word {
    my ($self, $parms, @words) = @_;
    die "refused\n" if @words && defined $words[0] && $words[0] eq 'refused';
    push @{ $self->{words} }, join ' ', ($parms->info // '-') . ':', @words;
}
sub WordPlain { my ($self, $parms, @words) = @_; push @{ $self->{words} }, "plain: @words" }
sub server_word {
    my ($self, $parms, $word) = @_;
    my $server = Apache2::Module::get_config($self, $parms->server);
    push @{ $server->{words} }, "$word" . ($parms->server->is_virtual ? ' of a host' : '');
}
sub list {
    my ($self, $parms, $text) = @_;
    my $inside = $parms->directive->as_hash;
    push @{ $self->{words} }, "list $text";
    for (my $node = $parms->directive->first_child; $node; $node = $node->next) {
        push @{ $self->{words} }, join ' ', 'in list:', $node->directive, $node->args;
    }
}

sub handler {
    my $r = shift;
    my $dir    = Apache2::Module::get_config(__PACKAGE__, $r->server, $r->per_dir_config);
    my $server = Apache2::Module::get_config(__PACKAGE__, $r->server);
    $r->content_type('text/plain');
    $r->print(map { $_ ? join(' | ', $_->{kind}, @{ $_->{words} }) . "\n" : "nothing\n" } $dir, $server);
    return Apache2::Const::OK;
}
1;
"#;

const CONF: &str = "\
PerlSwitches -I@ROOT@/lib
PerlLoadModule Site::Words
WordTAKE1 main
WordServer first
<Location /words>
    SetHandler modperl
    PerlResponseHandler Site::Words
</Location>
<Location /words/kinds>
    WordTAKE2 a 'b c'
    WordTAKE3 a b c
    WordTAKE12 a
    WordTAKE12 a b
    WordTAKE13 a b c
    WordTAKE23 a b
    WordTAKE123 a
    WordITERATE a b c
    WordITERATE2 a b c
    WordFLAG On
    WordFLAG Off
    WordRAW_ARGS  as \"it is\"  written
    WordNO_ARGS
    wordplain 1
</Location>
<Location /words/kinds/below>
    WordTAKE1 below
    <WordList of things>
        Apple red
        Pear green
    </WordList>
</Location>
";

fn words(conf: &str) -> Builder {
    Server::builder()
        .file("lib/Site/Words.pm", MODULE)
        .conf(CONF)
        .conf(conf)
}

#[test]
fn every_kind_of_arguments_reaches_its_callback_and_sections_are_merged() {
    let server = words("").start();
    assert_eq!(
        server.get("/words").expect(200),
        "dir none | take1: main\nserver | first\n"
    );
    let kinds = "dir none+dir /words/kinds | take1: main | take2: a b c | take3: a b c | take12: a | take12: a b | \
        take13: a b c | take23: a b | take123: a | iterate: a | iterate: b | iterate: c | iterate2: a b | iterate2: a c | \
        flag: 1 | flag: 0 | raw_args: as \"it is\"  written | no_args: | plain: 1";
    assert_eq!(
        server.get("/words/kinds").expect(200),
        format!("{kinds}\nserver | first\n")
    );
    let below = kinds.replacen("/words/kinds", "/words/kinds+dir /words/kinds/below", 1);
    assert_eq!(
        server.get("/words/kinds/below").expect(200),
        format!("{below} | take1: below | list of things> | in list: Apple red | in list: Pear green\nserver | first\n")
    );
}

#[test]
fn virtual_host_merges_its_server_object_with_the_main_servers() {
    let host = "\
<VirtualHost *:*>
    ServerName other.example
    WordServer second
    WordTAKE1 host
    <Location /words/more>
        WordTAKE1 more
    </Location>
</VirtualHost>
";
    let server = words(host).start();
    let mut request = Request::get("/words/more");
    request.fields.retain(|(name, _)| name != "Host");
    let answer = server.send(&request.field("Host", "other.example"));
    assert_eq!(
        answer.expect(200),
        "dir none+dir none+dir /words/more | take1: main | take1: host | take1: more\nserver+server | first | second of a host\n"
    );
}

#[test]
fn a_htaccess_may_use_what_its_override_allows() {
    let conf = "\
<Directory @ROOT@/htdocs>
    AllowOverride All
    SetHandler modperl
    PerlResponseHandler Site::Words
    WordTAKE1 folder
</Directory>
<Directory @ROOT@/htdocs/closed>
    AllowOverride AuthConfig
</Directory>
";
    let server = words(conf)
        .file("htdocs/open/a.txt", "a")
        .file(
            "htdocs/open/.htaccess",
            "WordTAKE2 of htaccess\nWordFLAG On\n",
        )
        .file("htdocs/server/a.txt", "a")
        .file("htdocs/server/.htaccess", "WordServer no\n")
        .file("htdocs/refused/a.txt", "a")
        .file("htdocs/refused/.htaccess", "WordTAKE1 refused\n")
        .start();
    let root = server.site.path("htdocs").display().to_string();
    for _ in 0..2 {
        assert_eq!(
            server.get("/open/a.txt").expect(200).replace(&format!("{root}/open/"), "OPEN").replace(&format!("{root}/open"), "OPEN").replace(&format!("{root}/"), "ROOT").replace(&root, "ROOT"),
            "dir none+dir ROOT+dir OPEN | take1: main | take1: folder | take2: of htaccess | flag: 1\nserver | first\n"
        );
    }
    server.get("/server/a.txt").expect(500);
    server.get("/refused/a.txt").expect(500);
}

/// Wrong lines, and the expected messages.
const WRONG: &[(&str, &str)] = &[
    (
        "WordTAKE1",
        "an argument is missing; expected `WordTAKE1 WORD`: what TAKE1 takes",
    ),
    (
        "WordTAKE1 a b",
        "`b` is one argument too many; expected `WordTAKE1 WORD`",
    ),
    (
        "WordTAKE13 a b",
        "`b` is one argument too many; expected `WordTAKE13 WORD [WORD WORD]`",
    ),
    (
        "WordFLAG maybe",
        "expected `WordFLAG On|Off`: what FLAG takes, not `maybe`",
    ),
    ("WordTAKE1 refused", "refused"),
    (
        "WordTAKE4 a",
        "there is no directive `WordTAKE4`; did you mean `WordTAKE",
    ),
    (
        "<Location /x>\nWordServer a\n</Location>",
        "WordServer of Site::Words cannot stand here; expected it outside of sections",
    ),
    (
        "<WordList of>\nApple",
        "<WordList> is not closed; expected </WordList> in the same file",
    ),
    (
        "PerlLoadModule Site::Missing",
        "Can't locate Site/Missing.pm in @INC",
    ),
    ("Perl die 'not this way'", "not this way"),
];

#[test]
fn a_wrong_line_stops_the_start_and_says_what_was_expected() {
    for (line, expected) in WRONG {
        let log = words(line)
            .try_start()
            .err()
            .unwrap_or_else(|| panic!("{line}: it started"));
        assert!(log.text().contains(expected), "{line}: {}", log.text());
    }
}

#[test]
fn one_line_of_perl_makes_directives() {
    let server = words("Perl our %Location = ('/made' => { SetHandler => 'modperl', PerlResponseHandler => 'Site::Words', WordTAKE1 => 'made' });\n").start();
    assert_eq!(
        server.get("/made").expect(200),
        "dir none+dir /made | take1: main | take1: made\nserver | first\n"
    );
}
