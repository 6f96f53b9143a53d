//! Tests redirects within the server by a handler, and scripts that print the whole head of the
//! response. Each response must equal Apache's.

use super::*;
use mehari_harness::Pair;
use std::os::unix::fs::PermissionsExt;

const MODULE: &str = r#"
use Apache2::SubRequest ();
sub redirect {
    my $r = shift;
    my ($how, $where) = $r->path_info =~ m{^/(\w+)(/.*)};
    my $query = $r->args // '';
    $where .= "?$1" if $how =~ /q/ and $query =~ /with=(\w*)/;
    $r->content_type('text/x-redirect') if $how =~ /t/;
    $r->headers_out->set('X-Before' => 'before') if $how =~ /h/;
    $r->print('printed before; ') if $how =~ /p/;
    $how =~ /x/ ? $r->internal_redirect_handler($where) : $r->internal_redirect($where);
    $r->print('printed after; ') if $how =~ /a/;
    return 0;
}
sub say {
    my $r = shift;
    $r->content_type('text/plain');
    $r->print(map { defined $_ ? "$_\n" : "undef\n" } $r->the_request, $r->method, $r->uri, $r->unparsed_uri, $r->args, $r->filename, $r->path_info, $r->status, $r->prev ? $r->prev->uri : 'none', $r->is_initial_req);
    return 0;
}
"#;

const CONF: &str = r#"
PerlModule Elsewhere
ScriptAlias /cgi/ @ROOT@/cgi/
Alias /perl/ @ROOT@/perl/
Alias /run/ @ROOT@/perl/
Alias /raw/ @ROOT@/perl/
<Directory @ROOT@>
Require all granted
Options +ExecCGI
</Directory>
<Location /redirect>
SetHandler modperl
PerlResponseHandler Elsewhere::redirect
</Location>
<Location /say>
SetHandler modperl
PerlResponseHandler Elsewhere::say
</Location>
<Location /perl>
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
</Location>
<Location /run>
SetHandler perl-script
PerlResponseHandler ModPerl::PerlRun
PerlOptions +ParseHeaders
</Location>
<Location /raw>
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions -ParseHeaders
ForceType text/plain
</Location>
"#;

const SCRIPT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\nX-Own: own\\n\\n}, map { $_ . '=' . ($ENV{$_} // '-') . qq{\\n} } qw(REQUEST_METHOD QUERY_STRING PATH_INFO SCRIPT_NAME REQUEST_URI REDIRECT_STATUS REDIRECT_URL REDIRECT_QUERY_STRING);\n";
const NPH: &str = "#!/usr/bin/perl\nprint qq{HTTP/1.1 203 Mine\\r\\nContent-Type: text/x-nph\\r\\nX-Nph: yes\\r\\n\\r\\nbody\\n};\n";

fn site() -> Builder {
    let mut builder = one_worker(&[("Elsewhere", MODULE)], CONF)
        .file("htdocs/page.html", "<p>page</p>\n")
        .file("htdocs/other.txt", "other\n");
    for (name, text) in [("show.pl", SCRIPT), ("nph-own.pl", NPH)] {
        for place in ["cgi", "perl"] {
            let file = format!("{place}/{name}");
            builder = builder.file(&file, text);
            let program = builder.folder_of(&file);
            std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).expect("own file");
        }
    }
    builder
}

fn compare(pair: &mut Pair, targets: impl IntoIterator<Item = String>) {
    let mut differences = Vec::new();
    for target in targets {
        for method in ["GET", "HEAD"] {
            differences.extend(pair.compare(&Request::new(method, &target)).err());
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn redirects_within_the_server_are_answered_as_in_apache() {
    let mut pair = Pair::start(site);
    let mut targets = Vec::new();
    for how in ["i", "iq", "ip", "ipa", "ia", "it", "ih", "iqp", "ipt", "ix"] {
        for place in [
            "/page.html",
            "/say/more",
            "/cgi/show.pl",
            "/perl/show.pl/info",
            "/run/show.pl",
            "/missing",
        ] {
            for query in ["", "?a=b", "?with=new&a=b", "?with="] {
                targets.push(format!("/redirect/{how}{place}{query}"));
            }
        }
    }
    compare(&mut pair, targets);
}

#[test]
fn scripts_that_say_the_whole_head_are_answered_as_in_apache() {
    let mut pair = Pair::start(site);
    let places = ["cgi", "raw"];
    let names = ["nph-own.pl", "show.pl"];
    compare(
        &mut pair,
        places
            .iter()
            .flat_map(|place| names.map(|name| format!("/{place}/{name}"))),
    );
}
