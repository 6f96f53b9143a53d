//! Apache::DBI with connect_on_init and prepare_cached: one persistent connection a worker. It is
//! rolled back after each request, opened again after a restart of the database, and never opened
//! in the zygote.

use mehari_harness::{Builder, Database, Engine, Pair, Request, Server};
use std::collections::{BTreeMap, BTreeSet};

fn site(database: &Database) -> Builder {
    let words = [
        ("@DSN@", database.dsn()),
        ("@USER@", database.user().to_owned()),
    ];
    let words: Vec<_> = words
        .iter()
        .map(|(word, value)| (*word, value.as_str()))
        .collect();
    Server::builder()
        .program_site_with("apache_dbi", &["site.conf", "startup.pl"], &words)
        .expect_alert("DBD::")
}

fn empty(engine: Engine) -> Option<Database> {
    let database = Database::start(engine)?;
    database.run("create table words (word varchar(30), worker integer)");
    database.open_to_all();
    Some(database)
}

/// `worker 12 connection 34`, by worker.
fn connections(server: &Server) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for _ in 0..20 {
        let page = server.get("/perl/count.pl?who=1").expect(200);
        let line = page.lines().last().unwrap_or_default();
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!((words[0], words[2]), ("worker", "connection"), "{page}");
        let before = known.insert(words[1].to_owned(), words[3..].join(" "));
        assert!(
            before.is_none_or(|before| before == words[3..].join(" ")),
            "{page}"
        );
    }
    known
}

fn words_are_kept(engine: Engine) {
    let Some(database) = empty(engine) else {
        return;
    };
    let server = site(&database).start();
    for (count, word) in ["one", "three", "two"].iter().enumerate() {
        let page = server
            .get(&format!("/perl/count.pl?word={word}"))
            .expect(200);
        assert_eq!(
            page.lines().next().unwrap_or_default().split(' ').count(),
            count + 1,
            "{page}"
        );
        assert!(page.contains("class Apache::DBI::db"), "{page}");
    }
    server.get("/perl/undone.pl").expect(200);
    let page = server.get("/perl/count.pl").expect(200);
    assert!(
        page.starts_with("one three two\n"),
        "the transaction was not rolled back: {page}"
    );
}

/// Single requests reach the worker used last; concurrent ones reach both.
fn both_workers(server: &Server) -> BTreeSet<String> {
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let address = server.address;
            std::thread::spawn(move || {
                let mut found = BTreeSet::new();
                for _ in 0..20 {
                    let mut connection = mehari_harness::Connection::open(address);
                    let request = Request::get("/perl/count.pl?who=1").closing();
                    let page = connection
                        .send(&request)
                        .map(|answer| answer.text())
                        .unwrap_or_default();
                    found.extend(page.lines().last().map(str::to_owned));
                }
                found
            })
        })
        .collect();
    let lines = clients
        .into_iter()
        .flat_map(|client| client.join().expect("a client ends"));
    lines.collect()
}

fn each_worker_has_one_connection(engine: Engine) {
    let Some(database) = empty(engine) else {
        return;
    };
    let server = site(&database).start();
    let lines = both_workers(&server);
    let workers: BTreeSet<_> = lines
        .iter()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    let connections: BTreeSet<_> = lines
        .iter()
        .filter_map(|line| line.split(" connection ").nth(1))
        .collect();
    assert_eq!(workers.len(), 2, "{lines:?}");
    assert_eq!(
        connections.len(),
        2,
        "a connection is shared or was made anew: {lines:?}"
    );
    assert_eq!(lines.len(), 2, "{lines:?}");
}

fn worker_reconnects(engine: Engine) {
    let Some(mut database) = empty(engine) else {
        return;
    };
    let server = site(&database).start();
    server.get("/perl/count.pl?word=before").expect(200);
    let before = connections(&server);
    database.restart();
    let page = server.get("/perl/count.pl?word=later").expect(200);
    assert!(page.starts_with("before later\n"), "{page}");
    let after = connections(&server);
    assert!(
        after.keys().any(|worker| before.contains_key(worker)),
        "{before:?} {after:?}"
    );
    database.stop();
    assert_eq!(server.get("/perl/count.pl").status, 500);
    database.restart();
    server.get("/perl/count.pl").expect(200);
}

#[test]
fn sqlite_keeps_words_and_loses_what_was_not_committed() {
    words_are_kept(Engine::Sqlite);
}

#[test]
fn sqlite_handle_belongs_to_one_worker() {
    each_worker_has_one_connection(Engine::Sqlite);
}

#[test]
fn pages_over_sqlite_are_those_of_mod_perl() {
    let (Some(ours), Some(theirs)) = (empty(Engine::Sqlite), empty(Engine::Sqlite)) else {
        return;
    };
    let mut databases = vec![ours, theirs].into_iter();
    let mut kept = Vec::new();
    let mut user = Pair::start_each(|| {
        let database = databases.next().expect("one for each server");
        let builder = site(&database);
        kept.push(database);
        builder
    });
    for target in ["?word=one", "?word=two", "", "?word=three"] {
        user.get(&format!("/perl/count.pl{target}")).expect(200);
    }
    user.get("/perl/undone.pl").expect(200);
    assert!(user
        .get("/perl/count.pl")
        .expect(200)
        .starts_with("one three two\n"));
}

#[test]
#[ignore = "starts a database server: make programs"]
fn postgresql_keeps_words_and_loses_what_was_not_committed() {
    words_are_kept(Engine::PostgreSql);
}

#[test]
#[ignore = "starts a database server: make programs"]
fn postgresql_connection_belongs_to_one_worker() {
    each_worker_has_one_connection(Engine::PostgreSql);
}

#[test]
#[ignore = "starts a database server: make programs"]
fn worker_that_lost_postgresql_connects_again() {
    worker_reconnects(Engine::PostgreSql);
}

#[test]
#[ignore = "starts a database server: make programs"]
fn mariadb_keeps_words_and_loses_what_was_not_committed() {
    words_are_kept(Engine::MariaDb);
}

#[test]
#[ignore = "starts a database server: make programs"]
fn mariadb_connection_belongs_to_one_worker() {
    each_worker_has_one_connection(Engine::MariaDb);
}

#[test]
#[ignore = "starts a database server: make programs"]
fn worker_that_lost_mariadb_connects_again() {
    worker_reconnects(Engine::MariaDb);
}
