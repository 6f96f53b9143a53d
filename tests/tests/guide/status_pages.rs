//! Tests the status pages of Apache2::Status, configured as in the guide and the book.

use crate::ONE_WORKER;
use mehari_harness::scripts::APACHE_REGISTRY;
use mehari_harness::Server;

const STATUS: &str = "\
<Location /perl-status>
    SetHandler perl-script
    PerlHandler +Apache::Status
    order deny,allow
</Location>
PerlSetVar StatusOptionsAll On
PerlSetVar StatusDumper On
PerlSetVar StatusPeek On
PerlSetVar StatusLexInfo On
PerlSetVar StatusDeparse On
PerlSetVar StatusDeparseOptions \"-p -sC\"
PerlSetVar StatusTerse On
PerlSetVar StatusTerseSize On
PerlSetVar StatusTerseSizeMainSummary On
";

#[test]
fn status_pages_show_what_a_worker_has_compiled() {
    let server = Server::builder()
        .fixtures("printed")
        .conf(ONE_WORKER)
        .conf(APACHE_REGISTRY)
        .conf(STATUS)
        .start();
    let menu = server.get("/perl-status").expect(200);
    assert!(menu.contains("Loaded Modules"), "{menu}");
    let before = server.get("/perl-status?rgysubs").expect(200);
    assert!(
        !before.contains("table_2egen_2epl") && !before.contains("table_gen"),
        "{before}"
    );
    server.get("/perl/table_gen.pl").expect(200);
    for page in ["rgysubs", "script"] {
        let page = server.get(&format!("/perl-status?{page}")).expect(200);
        assert!(page.contains("Compiled Registry Scripts"), "{page}");
        assert!(page.contains("table_gen"), "{page}");
    }
    for (page, words) in [
        ("inc", "CGI.pm"),
        ("env", "PATH"),
        ("sig", "CHLD"),
        ("myconfig", "Summary of my perl5"),
    ] {
        let text = server.get(&format!("/perl-status?{page}")).expect(200);
        assert!(page == "inc" || text.contains(words), "{page}: {text}");
    }
}
