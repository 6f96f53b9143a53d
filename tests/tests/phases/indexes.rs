//! Tests what the handlers of each phase see of a request for a folder: the folder until the fixup
//! phase has ended, and then its index. The responses must equal those of Apache and mod_perl.

use super::*;
use mehari_harness::apache;
use std::fmt::Write;

const MODULE: &str = r#"
use Apache2::Const -compile => qw(OK DECLINED FORBIDDEN);
sub note {
    my ($r, $phase) = @_;
    # Apache makes a sub-request for each name of DirectoryIndex, with notes of its own.
    return Apache2::Const::DECLINED if $r->main;
    my $file = $r->filename // '-';
    $file =~ s{.*/htdocs}{};
    # The file is not known before the path is mapped, and the type not before the fixup phase.
    my @later = $phase =~ /trans|storage/ ? () : ($file, $r->path_info || '-');
    push @later, $r->content_type // '-', -d $r->filename ? 'folder' : 'file' if $phase =~ /fixup|answer/;
    $r->notes->add(seen => join ' ', $phase, $r->uri, @later);
    return Apache2::Const::DECLINED;
}
sub trans   { note($_[0], 'trans') }
sub storage { note($_[0], 'storage') }
sub parser  { note($_[0], 'parser') }
sub fixup   { note($_[0], 'fixup') }
sub access {
    my $r = shift;
    note($r, 'access');
    my $refused = ($r->args // '') eq 'refuse' ? qr{/$} : ($r->args // '') eq 'guard' ? qr{second} : qr{^$};
    return $r->uri =~ $refused && ($r->main || $r->is_initial_req) ? Apache2::Const::FORBIDDEN : Apache2::Const::DECLINED;
}
sub answer {
    my $r = shift;
    note($r, 'answer');
    $r->content_type('text/plain');
    $r->print(map { "$_\n" } $r->notes->get('seen'));
    return Apache2::Const::OK;
}
"#;

const CONF: &str = r#"
PerlModule Indexes
PerlTransHandler Indexes::trans
PerlMapToStorageHandler Indexes::storage
DirectoryIndex first.none second.seen third.txt
<Location />
PerlHeaderParserHandler Indexes::parser
PerlAccessHandler Indexes::access
PerlFixupHandler Indexes::fixup
</Location>
<FilesMatch "\.(seen|none)$">
SetHandler modperl
PerlResponseHandler Indexes::answer
</FilesMatch>
<Directory @ROOT@/htdocs/listed>
Options +Indexes
</Directory>
<Location /handled>
SetHandler modperl
PerlResponseHandler Indexes::answer
</Location>
"#;

fn site() -> Builder {
    one_worker(&[("Indexes", MODULE)], "")
        .file("htdocs/second.seen", "")
        .file("htdocs/in/second.seen", "")
        .file("htdocs/plain/third.txt", "third\n")
        .file("htdocs/empty/other.txt", "other\n")
        .file("htdocs/handled/second.seen", "")
        .file("htdocs/listed/other.txt", "")
        .conf(CONF)
}

fn site_with_rules() -> Builder {
    site().conf("RewriteEngine On\nRewriteRule ^/old/(.*) /in/$1 [PT]\n")
}

/// Returns the lines about the paths for which the servers differ.
fn differences(servers: &[Server]) -> String {
    let mut differences = String::new();
    let paths = [
        "/",
        "/in/",
        "/in/?a=1",
        "/in/?refuse",
        "/in/?guard",
        "/in/second.seen?guard",
        "/plain/?guard",
        "/in",
        "/in/second.seen",
        "/in/second.seen/more",
        "/plain/",
        "/plain/third.txt",
        "/empty/",
        "/listed/",
        "/handled/",
        "/old/",
    ];
    for path in paths {
        let answers = servers.iter().map(|server| {
            let answer = server.send(&Request::get(path));
            let text = answer.text();
            // The servers' own pages differ.
            let text = if text.starts_with('<') {
                String::new()
            } else {
                text
            };
            (answer.status, text)
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
    differences
}

#[test]
fn handlers_before_the_response_see_the_folder_of_an_index() {
    let servers = apache::beside(site);
    let differences = differences(&servers);
    assert!(differences.is_empty(), "\n{differences}");
    let seen = servers[0].get("/in/").text();
    assert_eq!(
        seen,
        "trans /in/\nstorage /in/\nparser /in/ /in/ -\naccess /in/ /in/ -\n\
         fixup /in/ /in/ - httpd/unix-directory folder\n\
         answer /in/second.seen /in/second.seen - - file\n"
    );
}

#[test]
fn handlers_see_the_folder_of_an_index_that_the_rules_of_the_host_have_found() {
    let servers = apache::beside(site_with_rules);
    let differences = differences(&servers);
    assert!(differences.is_empty(), "\n{differences}");
}
