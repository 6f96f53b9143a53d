//! Tests where a request goes after a handler of an early phase has changed what the rules of the
//! server and `<If>` read: to another file, program or handler, with the body of the request and
//! the access rules of the new place. The responses must equal those of Apache and mod_perl.

use super::*;
use mehari_harness::apache;
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Const -compile => qw(OK DECLINED FORBIDDEN);
sub mark { $_[0]->headers_in->set('X-Made', 'made'); Apache2::Const::DECLINED }
sub read_request { $_[0]->uri =~ m{^/read/} ? mark(@_) : Apache2::Const::DECLINED }
sub trans {
    my $r = shift;
    $r->uri("/$1") if $r->uri =~ m{^/chosen/(.*)};
    return $r->uri =~ m{^/trans/} ? mark($r) : Apache2::Const::DECLINED;
}
sub map_to_storage { $_[0]->uri =~ m{^/map/} ? mark(@_) : Apache2::Const::DECLINED }
sub forbid { Apache2::Const::FORBIDDEN }
sub show {
    my $r = shift;
    $r->content_type('text/plain');
    my $body = '';
    $r->read($body, 100);
    $r->print(join ' ', $r->method, $r->uri, $r->args // '-', $r->path_info, $r->headers_in->{'X-Made'} // '-', $body);
    return 0;
}
"#;

const CONF: &str = r#"
PerlModule Places
PerlPostReadRequestHandler Places::read_request
PerlTransHandler Places::trans
PerlMapToStorageHandler Places::map_to_storage
RewriteEngine On
RewriteRule ^/old/(.*) /shown/$1 [PT]
RewriteCond %{HTTP:X-Made} !=made
RewriteRule ^/\w+/(unless)$ /shown/$1 [PT]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/file$ /other/file.txt [PT]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/disk$ @ROOT@/disk/file.txt
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/program$ /programs/echo.cgi/info [PT]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/handler$ /shown/more?q=made [PT]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/moved$ http://example.test/there [R=302]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/gone$ - [G]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/closed$ /closed/file.txt [PT]
RewriteCond %{HTTP:X-Made} =made
RewriteRule ^/\w+/guarded$ /guarded/file.txt [PT]
Redirect /left http://example.test/left
<Directory @ROOT@/htdocs>
<If "req('X-Made') == 'made'">
ErrorDocument 404 "made"
</If>
</Directory>
<Directory @ROOT@/disk>
Require all granted
</Directory>
<LocationMatch ^/\w+/section$>
<If "req('X-Made') == 'made'">
Require all denied
</If>
</LocationMatch>
<LocationMatch ^/\w+/run$>
<If "req('X-Made') == 'made'">
SetHandler modperl
PerlResponseHandler Places::show
</If>
</LocationMatch>
<Location /shown>
SetHandler modperl
PerlResponseHandler Places::show
</Location>
<Location /closed>
Require all denied
</Location>
<Location /guarded>
PerlAccessHandler Places::forbid
</Location>
ScriptAlias /programs/ @ROOT@/programs/
"#;

const NAMES: [&str; 13] = [
    "file", "disk", "program", "handler", "moved", "gone", "closed", "guarded", "unless",
    "section", "run", "none", "left",
];

fn site() -> Builder {
    let mut site = one_worker(&[("Places", MODULE)], "");
    for name in NAMES {
        for phase in ["read", "trans", "map", "nobody"] {
            if name != "none" {
                site = site.file(
                    &format!("htdocs/{phase}/{name}"),
                    &format!("{phase} {name}\n"),
                );
            }
        }
    }
    let echo = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n%s %s %s %s ' $REQUEST_METHOD $PATH_INFO $HTTP_X_MADE $REQUEST_URI\ncat\n";
    let site = site
        .file("htdocs/other/file.txt", "other\n")
        .file("htdocs/closed/file.txt", "closed\n")
        .file("htdocs/guarded/file.txt", "guarded\n")
        .file("disk/file.txt", "disk\n")
        .file("programs/echo.cgi", echo)
        .conf(CONF);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(site.folder_of("programs").join("echo.cgi"), mode).expect("own file");
    site
}

#[test]
fn rules_lead_a_changed_request_where_they_lead_it_in_apache() {
    let servers = apache::beside(site);
    let mut differences = String::new();
    let phases = ["read", "trans", "map", "nobody"];
    let mut paths: Vec<String> = phases
        .iter()
        .flat_map(|phase| NAMES.iter().map(move |name| format!("/{phase}/{name}")))
        .collect();
    for chosen in [
        "old/x",
        "left/x",
        "other/file.txt",
        "shown/y?q=1",
        "closed/file.txt",
        "none",
    ] {
        paths.push(format!("/chosen/{chosen}"));
    }
    for path in paths {
        for request in [Request::get(&path), Request::post(&path, "body")] {
            let answers = servers.iter().map(|server| {
                let answer = server.send(&request);
                let text = answer.text();
                // The servers' own pages differ.
                let text = if text.starts_with('<') {
                    String::new()
                } else {
                    text
                };
                (answer.status, answer.field("location"), text)
            });
            let all: Vec<_> = answers.collect();
            let expected = all.last().expect("Mehari at least");
            if all[0] != *expected {
                let _ = writeln!(
                    differences,
                    "{path}: ours {:?}, Apache's {expected:?}",
                    all[0]
                );
            }
        }
    }
    assert!(differences.is_empty(), "\n{differences}");
}
