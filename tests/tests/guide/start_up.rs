//! Tests start-up code: scripts that are compiled before the fork, and handlers that translate
//! paths.

use mehari_harness::{Request, Server};

/// A script that prints which process has compiled it: the worker, or the zygote before the fork.
const COMPILED: &str = "use strict;\nour $compiler;\nBEGIN { $compiler = $$ }\nmy $r = shift;\n\
    $r->send_http_header('text/plain');\nprint $compiler == $$ ? 'here' : 'before the fork';\n";

/// The guide's start-up code in `<Perl>` sections: code that compiles all scripts of a folder, and
/// a translation handler.
const SECTIONS: &str = "\
PerlModule Apache2::compat
<Perl>
use File::Find qw(finddepth);
use Apache::RegistryLoader ();
my $root = '@ROOT@/';
my $loader = Apache::RegistryLoader->new;
finddepth(sub {
    return unless /\\.pl$/;
    (my $url = \"$File::Find::dir/$_\") =~ s|$root/?|/|;
    my $status = $loader->handler($url);
    die \"$url is not compiled: $status\" unless $status == 200;
}, \"${root}perl/\");
</Perl>
<Perl>
package My::Trans;
use Apache::Constants qw(:common);
sub handler { my $r = shift; return OK if $r->uri() =~ m|^/made|; return DECLINED }
package Apache::ReadConfig;
$PerlTransHandler = 'My::Trans';
</Perl>
<Location /perl>
    SetHandler perl-script
    PerlHandler Apache::Registry
    Options +ExecCGI
</Location>
<Location /made>
    SetHandler perl-script
    PerlHandler 'sub { my $r = shift; $r->send_http_header(\"text/plain\"); $r->print($r->uri); 0 }'
</Location>
Alias /perl/ @ROOT@/perl/
";

#[test]
fn start_up_code_of_the_guide_compiles_scripts_and_translates_paths() {
    let server = Server::builder()
        .file("perl/one.pl", COMPILED)
        .file("perl/below/two.pl", COMPILED)
        .conf(SECTIONS)
        .start();
    for script in ["/perl/one.pl", "/perl/below/two.pl"] {
        assert_eq!(server.get(script).expect(200), "before the fork");
    }
    assert_eq!(server.get("/made/up").expect(200), "/made/up");
}

/// The responses of three virtual hosts for paths without a file.
const TRANSLATIONS: &[(&str, &str)] = &[
    ("all.example", "PerlTransHandler Apache::OK\n"),
    (
        "some.example",
        "PerlTransHandler 'sub { return shift->uri() =~ m|^/foo| \\\n ? Apache::OK : Apache::DECLINED; }'\n",
    ),
    (
        "none.example",
        "Alias /foo /\n<Directory />\nAllowOverride None\n</Directory>\n",
    ),
];

const PLACE: &str = "\
<Location /foo/test>
    SetHandler perl-script
    PerlHandler 'sub { my $r = shift; $r->send_http_header(\"text/plain\"); $r->print($r->uri); 0 }'
</Location>
";

/// A location without a file is served, with and without a translation handler that keeps the
/// server from searching the disk.
#[test]
fn translation_handlers_keep_paths_from_the_disk() {
    let hosts: String = TRANSLATIONS
        .iter()
        .map(|(name, rules)| {
            format!("<VirtualHost *:*>\nServerName {name}\n{rules}{PLACE}</VirtualHost>\n")
        })
        .collect();
    let server = Server::builder()
        .file("htdocs/page.txt", "a page")
        .conf("PerlModule Apache2::compat\n")
        .conf("<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n")
        .conf(&hosts)
        .start();
    for (host, _) in TRANSLATIONS {
        let request = Request::get("/foo/test").host(host);
        assert_eq!(server.send(&request).expect(200), "/foo/test", "{host}");
    }
    let page = Request::get("/page.txt").host("some.example");
    let found = server.send(&page).expect(200);
    assert_eq!(found, "a page");
}

/// The talk shows two lines of configuration for a folder of CGI scripts.
#[test]
fn folder_of_cgi_scripts_runs_under_perlrun() {
    let server = Server::builder()
        .fixtures("guide")
        .conf(
            "LoadModule perl_module modules/mod_perl.so\n\
             Alias /perlrun @ROOT@/scripts\n\
             <Location /perlrun>\n\
                 SetHandler perl-script\n\
                 PerlResponseHandler ModPerl::PerlRun\n\
                 PerlOptions +ParseHeaders\n\
                 Options +ExecCGI\n\
                 Require all granted\n\
             </Location>\n",
        )
        .start();
    for _ in 0..2 {
        assert_eq!(server.get("/perlrun/hello.pl").expect(200), "Hello");
        let page = server.get("/perlrun/counter_global.pl").expect(200);
        assert_eq!(page, "counted 1\n");
    }
    let page = server.get("/perlrun/printenv.pl").expect(200);
    assert!(page.contains("\nMOD_PERL => mod_perl/2"), "{page}");
}
