//! Tests which entries a listing of a folder has. Each list must be that of Apache.

use mehari_harness::{apache, Builder, Request, Server};
use std::os::unix::fs::symlink;

/// The names that every listed folder has.
const NAMES: [&str; 9] = [
    "all.txt",
    "denied.txt",
    "method.txt",
    "moved.txt",
    "asked.txt",
    "user.txt",
    "other.txt",
    "forbidden.txt",
    "one.secret",
];

/// The hash of `secret`, made by openssl passwd -apr1.
const USERS: &str = "ann:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";

const CONF: &str = "
    DirectoryIndex index.html
    <Directory @ROOT@/htdocs>
        Options +Indexes +FollowSymLinks
        AllowOverride All
        Require all granted
    </Directory>
    <Directory @ROOT@/htdocs/files>
        <Files denied.txt>
            Require all denied
        </Files>
        <FilesMatch \"^(user|other)\">
            AuthType Basic
            AuthName A
            AuthUserFile @ROOT@/users
            Require user ann
        </FilesMatch>
        <Files other.txt>
            Require user bob
        </Files>
        <Files moved.txt>
            Redirect / http://elsewhere.example/
        </Files>
        <If \"%{REQUEST_URI} =~ /asked/\">
            Require all denied
        </If>
        RewriteEngine On
        RewriteRule ^forbidden - [F]
        RewriteRule ^moved http://elsewhere.example/ [R]
    </Directory>
    <Location /files/method.txt>
        <Limit GET>
            Require all denied
        </Limit>
    </Location>
    <Location /places/denied.txt>
        Require all denied
    </Location>
    <LocationMatch \"^/places/(one|in/)\">
        Order allow,deny
        Deny from all
    </LocationMatch>
    <Directory @ROOT@/htdocs/shown>
        IndexOptions FancyIndexing ShowForbidden
        <Files denied.txt>
            Require all denied
        </Files>
        <Files user.txt>
            AuthType Basic
            AuthName A
            AuthUserFile @ROOT@/users
            Require valid-user
        </Files>
        RewriteEngine On
        RewriteRule ^moved - [G]
        RewriteRule ^forbidden - [F]
    </Directory>
    <Directory @ROOT@/htdocs/shown/inner>
        IndexOptions FancyIndexing
    </Directory>
    <Directory @ROOT@/htdocs/shown/outer>
        IndexOptions +FancyIndexing
    </Directory>
    <Directory @ROOT@/htdocs/links>
        Options -FollowSymLinks
    </Directory>
    <Directory @ROOT@/htdocs/owned>
        Options -FollowSymLinks +SymLinksIfOwnerMatch
    </Directory>
    <Directory @ROOT@/htdocs/folders>
        IndexIgnore ignored *.tmp
    </Directory>
    <Directory @ROOT@/htdocs/folders/has_index>
        <Files index.html>
            Require all denied
        </Files>
    </Directory>
    <Directory @ROOT@/htdocs/folders/unlisted>
        Options -Indexes
    </Directory>
    <Directory @ROOT@/htdocs/folders/denied>
        Require all denied
    </Directory>
    <Directory @ROOT@/htdocs/folders/within>
        IndexIgnore *.txt
    </Directory>
    <Directory @ROOT@/htdocs/folders/anew>
        IndexIgnore a?l.txt
        IndexIgnoreReset On
    </Directory>
    Alias /alias @ROOT@/htdocs/files
    <Location /handled>
        PerlAccessHandler Handled::admit
        <If \"%{REQUEST_URI} =~ /asked/\">
            Require all denied
        </If>
    </Location>
    <LocationMatch ^/handled/(denied|user)>
        PerlAccessHandler Handled::refuse
    </LocationMatch>
    <Location /handled/one.secret>
        PerlFixupHandler Handled::admit
        Require all denied
    </Location>
    <Location /made>
        SetHandler modperl
        PerlResponseHandler Handled::run
    </Location>
    <Perl>
        package Handled;
        use Apache2::RequestRec ();
        use Apache2::SubRequest ();
        sub admit { 0 }
        sub refuse { 403 }
        sub run { my $r = shift; $r->content_type('text/html'); $r->lookup_uri('/files/')->run; 0 }
    </Perl>
";

fn site() -> Builder {
    let mut site = Server::builder()
        .file("users", USERS)
        .file("htdocs/folders/by_file/.htaccess", "Require all denied\n")
        .file(
            "htdocs/folders/by_rule/.htaccess",
            "RewriteEngine On\nRewriteRule ^ - [F]\n",
        )
        .file("htdocs/folders/broken/.htaccess", "NoSuchDirective\n")
        .file("htdocs/folders/empty/page", "page")
        .file("htdocs/folders/has_index/index.html", "page")
        .file("htdocs/folders/ignored/page", "page")
        .file("htdocs/places/in/page", "page")
        .file("htdocs/target/page", "page")
        .expect_alert("NoSuchDirective")
        .conf(CONF);
    for folder in [
        "files",
        "files/inner",
        "places",
        "shown",
        "shown/inner",
        "shown/outer",
        "links",
        "owned",
        "folders",
        "folders/unlisted",
        "folders/denied",
        "folders/within",
        "folders/anew",
        "rules",
        "handled",
        "handled/inner",
    ] {
        for name in NAMES {
            site = site.file(&format!("htdocs/{folder}/{name}"), "text");
        }
        site = site.file(&format!("htdocs/{folder}/x.tmp"), "text");
    }
    site = site.file(
        "htdocs/rules/.htaccess",
        "<Files all.txt>\nDeny from all\n</Files>\n\
         RewriteEngine On\nRewriteRule ^denied - [F]\nRewriteRule ^asked - [NS,F]\n\
         RewriteCond %{IS_SUBREQ} true\nRewriteRule ^other - [F]\n\
         RewriteRule ^one\\.secret$ user.txt\nRedirect gone /rules/user.txt\n",
    );
    for folder in ["links", "owned", "files"] {
        let folder = site.folder_of(&format!("htdocs/{folder}"));
        for (name, target) in [
            ("link.txt", "all.txt"),
            ("broken.txt", "none.txt"),
            ("foreign.txt", "/etc/passwd"),
            ("folder_link", "../target"),
            ("device", "/dev/null"),
        ] {
            symlink(target, folder.join(name)).expect("a link");
        }
    }
    site
}

/// Returns the names in a listing, without the links of Apache's head and to the outer folder.
fn names(page: &str) -> Vec<String> {
    let links = page.split("href=\"").skip(1);
    let names = links.filter_map(|rest| rest.split('"').next());
    let names = names.map(|name| name.strip_prefix("./").unwrap_or(name).to_owned());
    let mut names: Vec<String> = names
        .filter(|name| !name.starts_with(['?', '/', '.']))
        .collect();
    names.sort();
    names
}

#[test]
fn listings_have_the_entries_that_they_have_in_apache() {
    let servers = apache::beside(site);
    let mut differences = Vec::new();
    for target in [
        "/files/",
        "/alias/",
        "/files/inner/",
        "/places/",
        "/shown/",
        "/shown/inner/",
        "/shown/outer/",
        "/links/",
        "/owned/",
        "/folders/",
        "/folders/unlisted/",
        "/folders/within/",
        "/folders/anew/",
        "/rules/",
        "/handled/",
        "/handled/inner/",
        "/made",
    ] {
        for credentials in [None, Some("YW5uOnNlY3JldA=="), Some("YW5uOndyb25n")] {
            let mut request = Request::get(target);
            if let Some(credentials) = credentials {
                request = request.field("Authorization", &format!("Basic {credentials}"));
            }
            let answers: Vec<_> = servers
                .iter()
                .map(|server| server.send(&request))
                .map(|answer| (answer.status, names(&answer.text())))
                .collect();
            if answers.iter().any(|answer| *answer != answers[0]) {
                differences.push(format!("{target} {credentials:?}\n{answers:#?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
