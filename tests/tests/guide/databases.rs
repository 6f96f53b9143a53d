//! Tests the guide's database programs with SQLite: tables printed row by row, persistent
//! connections, shared drivers.

use crate::memory::sizes_in;
use crate::ONE_WORKER;
use mehari_harness::scripts::APACHE_REGISTRY;
use mehari_harness::{needs, Builder, Database, Engine, Server};

fn visitors() -> Option<Database> {
    let database = Database::start(Engine::Sqlite)?;
    database.run("create table visitors (name varchar(30), drink varchar(30))");
    database.run("insert into visitors values ('Adams', 'tea'), ('Dent', 'tea'), ('Ford', 'ale')");
    database.open_to_all();
    Some(database)
}

fn site(database: &Database, conf: &str) -> Builder {
    Server::builder()
        .fixtures("databases")
        .conf(&format!("PerlSetEnv SITE_DSN \"{}\"\n", database.dsn()))
        .conf(conf)
        .conf(ONE_WORKER)
        .conf("PerlSwitches -I@ROOT@/scripts/lib\n")
        .conf(APACHE_REGISTRY)
}

#[test]
fn table_is_printed_row_by_row() {
    let Some(database) = visitors() else { return };
    let server = site(&database, "").start();
    for _ in 0..2 {
        let page = server.get("/perl/select_table.pl").expect(200);
        assert_eq!(
            page,
            "<TABLE><TR><TD>Adams</TD><TD>tea</TD></TR><TR><TD>Dent</TD><TD>tea</TD></TR>\
             <TR><TD>Ford</TD><TD>ale</TD></TR></TABLE>"
        );
        for (condition, found) in [
            ("", "3"),
            ("?drink=tea", "2"),
            ("?drink=tea&name=Dent", "1"),
        ] {
            let page = server.get(&format!("/perl/dump.pl{condition}")).expect(200);
            let end = format!("</TABLE>\n{found} records found\n");
            assert!(page.ends_with(&end), "{condition}: {page}");
        }
        let page = server.get("/perl/dump.pl?drink=milk").expect(200);
        assert_eq!(page, "<p><b>No record was found!</b></p>\n");
    }
}

#[test]
fn connections_last_from_request_to_request() {
    needs!("libapache-dbi-perl");
    let Some(database) = visitors() else { return };
    let uses = |server: &Server, target: &str| {
        let page = server.get(target).expect(200);
        let count = page.trim_end().rsplit(' ').next().map(str::to_owned);
        (page.contains("drinks ale"), count.unwrap_or(page))
    };
    let alone = site(&database, "").start();
    for _ in 0..2 {
        let (_, count) = uses(&alone, "/perl/db.pl?baz=Ford");
        assert_eq!(count, "1", "a program alone connects each time");
    }
    let server = site(&database, "PerlModule Apache::DBI\n").start();
    for time in 1..=3 {
        let found = uses(&server, "/perl/db.pl?baz=Ford");
        assert_eq!(found, (true, time.to_string()), "Apache::DBI keeps it");
    }
    for time in 1..=3 {
        for (script, drinks) in [("prepared.pl", true), ("global_handle.pl", false)] {
            let found = uses(&alone, &format!("/perl/{script}?baz=Ford"));
            assert_eq!(found, (drinks, time.to_string()), "{script}");
        }
    }
}

/// Compares a worker's private memory under five start-up files.
#[test]
fn driver_installed_before_the_fork_is_shared() {
    needs!("libapache-dbi-perl", "libdbd-sqlite3-perl");
    let Some(database) = visitors() else { return };
    let own = |start_up: &str| {
        let server = site(
            &database,
            "PerlModule Apache::DBI\nPerlRequire @ROOT@/startup.pl\n",
        )
        .file(
            "startup.pl",
            &format!("use Apache::DBI ();\n{start_up}\n1;\n"),
        )
        .start();
        let page = server.get("/perl/preload_dbi.pl").expect(200);
        assert!(page.starts_with("Data: visitors\n"), "{page}");
        sizes_in(&server.get("/perl/preload_dbi.pl").expect(200)).1
    };
    let connect = format!(
        "Apache::DBI->connect_on_init('{}', '', '', {{ PrintError => 1, RaiseError => 0, AutoCommit => 1 }});",
        database.dsn()
    );
    let nothing = own("");
    let installed = own("DBI->install_driver('SQLite');");
    assert!(installed < nothing, "{installed} {nothing}");
    assert!(own("use DBD::SQLite ();") < nothing);
    let both = own(&format!("DBI->install_driver('SQLite'); {connect}"));
    assert!(both < own(&connect), "{both}");
}
