//! Tests which file and which handler respond if handlers of the phases before the response choose
//! them. Each response must equal Apache's.

use super::*;
use mehari_harness::Pair;
use std::os::unix::fs::PermissionsExt;

const MODULE: &str = r#"
use Apache2::Access ();
sub chooses {
    my ($phase, $r) = @_;
    my ($choice) = ($r->args // '') =~ /^in=$phase&(\w+)/ or return -1;
    $r->filename($r->document_root . "/$choice.pl") if $choice =~ /^(?:other|none)/;
    $r->handler('perl-script') if $choice eq 'handler';
    $r->set_handlers(PerlResponseHandler => 'ModPerl::Registry') if $choice eq 'handler';
    $r->push_handlers(PerlResponseHandler => sub { $_[0]->print('pushed'); 0 }) if $choice eq 'push';
    return 0;
}
sub early { chooses(early => @_) }
sub access { chooses(access => @_) }
sub late { chooses(late => @_) }
sub says { $_[0]->content_type('text/plain'); $_[0]->print("$ENV{SCRIPT_FILENAME}\n", $_[0]->filename); 0 }
"#;

const CONF: &str = r#"
PerlModule Chosen
<Directory @ROOT@>
Require all granted
Options +ExecCGI
</Directory>
<Location />
PerlHeaderParserHandler Chosen::early
PerlAccessHandler Chosen::access
PerlFixupHandler Chosen::late
PerlOptions +ParseHeaders
</Location>
<Location /registry>
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
</Location>
<Location /run>
SetHandler perl-script
PerlResponseHandler ModPerl::PerlRun
</Location>
<Location /handler>
SetHandler perl-script
PerlResponseHandler Chosen::says
</Location>
<Directory @ROOT@/htdocs/cgi>
AddHandler cgi-script .pl
</Directory>
"#;

const SCRIPT: &str =
    "print qq{Content-Type: text/plain\\n\\n}, map { ($ENV{$_} // '-') . qq{\\n} } \
    qw(SCRIPT_FILENAME SCRIPT_NAME PATH_INFO QUERY_STRING REQUEST_URI);\n";

fn site() -> Builder {
    let mut builder = one_worker(&[("Chosen", MODULE)], CONF).file("htdocs/page.txt", "page\n");
    for place in ["", "registry/", "run/", "cgi/", "handler/"] {
        // mod_perl reads as many bytes of the other file as the file of the path has.
        for (name, mark) in [("a", "1"), ("other", "2")] {
            let file = format!("htdocs/{place}{name}.pl");
            let text = format!("#!/usr/bin/perl\n{SCRIPT}print qq{{file {mark}\\n}};\n");
            builder = builder.file(&file, &text);
            let program = builder.folder_of(&file);
            std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).expect("own file");
        }
    }
    builder
}

#[test]
fn what_handlers_choose_responds_as_in_apache() {
    let root = r"/[^\s]*/htdocs/";
    let mut pair = Pair::start(site).mask(&[(root, "HTDOCS/")]);
    let mut differences = Vec::new();
    let mut compare = |target: &str| {
        differences.extend(pair.compare(&Request::get(target)).err());
    };
    for phase in ["early", "access", "late"] {
        for place in ["registry", "run"] {
            for choice in ["other", "none", "nothing"] {
                compare(&format!("/{place}/a.pl?in={phase}&{choice}"));
                compare(&format!("/{place}/a.pl/info?in={phase}&{choice}"));
            }
        }
        compare(&format!("/handler/a.pl?in={phase}&other"));
        compare(&format!("/page.txt?in={phase}&push"));
        compare(&format!("/cgi/a.pl?in={phase}&push"));
        compare(&format!("/registry/a.pl?in={phase}&push"));
        compare(&format!("/cgi/a.pl?in={phase}&handler"));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
