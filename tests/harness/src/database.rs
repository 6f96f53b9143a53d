//! Runs a database server for one test. The server listens on a Unix socket, and its data are
//! removed at the end.

use crate::needs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The database program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    PostgreSql,
    MariaDb,
}

/// An empty database. Its server is stopped when the value is dropped.
pub struct Database {
    engine: Engine,
    folder: tempfile::TempDir,
    server: Option<Child>,
}

impl Database {
    /// Starts an empty database. Returns `None` if the engine is not installed; the test then
    /// counts as skipped.
    pub fn start(engine: Engine) -> Option<Database> {
        if !needs::packages(engine.packages()) {
            return None;
        }
        let folder = tempfile::Builder::new()
            .prefix("mehari-db-")
            .tempdir()
            .expect("a temporary folder can be made");
        // The engine has another user and writes to this folder. Any worker must reach the socket.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777))
            .expect("own folder");
        let mut database = Database {
            engine,
            folder,
            server: None,
        };
        database.initialise();
        database.launch();
        Some(database)
    }

    /// Returns the data source name for DBI.
    pub fn dsn(&self) -> String {
        let folder = self.folder.path().display();
        match self.engine {
            Engine::Sqlite => format!("dbi:SQLite:dbname={folder}/site.sqlite"),
            Engine::PostgreSql => format!("dbi:Pg:dbname=postgres;host={folder}"),
            Engine::MariaDb => format!("dbi:MariaDB:database=site;mariadb_socket={folder}/socket"),
        }
    }

    /// Returns the name of the database's user. SQLite accepts any name.
    pub fn user(&self) -> &'static str {
        "site"
    }

    /// Runs one statement.
    #[track_caller]
    pub fn run(&self, statement: &str) {
        assert!(self.runs(statement), "{:?}: {statement}", self.engine);
    }

    /// Ends every connection by restarting the server.
    pub fn restart(&mut self) {
        self.stop();
        self.launch();
    }

    /// Stops the server for good.
    pub fn stop(&mut self) {
        let Some(mut server) = self.server.take() else {
            return;
        };
        // SIGINT ends PostgreSQL at once, SIGTERM ends MariaDB.
        let signal = match self.engine {
            Engine::PostgreSql => rustix::process::Signal::Int,
            _ => rustix::process::Signal::Term,
        };
        crate::processes::signal(server.id() as crate::processes::Pid, signal);
        let _ = server.wait();
    }

    fn launch(&mut self) {
        let folder = self.folder.path();
        let mut command = match self.engine {
            Engine::Sqlite => return,
            Engine::PostgreSql => {
                let mut command = as_user("postgres", &postgres("postgres"));
                command
                    .arg("-D")
                    .arg(folder.join("data"))
                    .arg("-k")
                    .arg(folder);
                command.args([
                    "-c",
                    "listen_addresses=",
                    "-c",
                    "fsync=off",
                    "-c",
                    "unix_socket_permissions=0777",
                ]);
                command
            }
            Engine::MariaDb => {
                let mut command = as_user("mysql", Path::new(MARIADB));
                command
                    .arg("--no-defaults")
                    .arg(format!("--datadir={}", folder.join("data").display()));
                command.arg(format!("--socket={}", folder.join("socket").display()));
                command.arg(format!("--pid-file={}", folder.join("pid").display()));
                command.arg(format!("--init-file={}", folder.join("init.sql").display()));
                command.args(["--skip-networking", "--skip-grant-tables"]);
                command
            }
        };
        let log = std::fs::File::create(folder.join("log")).expect("own folder");
        command
            .stdout(Stdio::null())
            .stderr(log)
            .stdin(Stdio::null());
        self.server = Some(command.spawn().expect("the engine is installed"));
        let is_up = crate::eventually(crate::PATIENCE, || self.runs("select 1"));
        assert!(is_up, "{:?} did not start:\n{}", self.engine, self.log());
    }

    fn initialise(&self) {
        let folder = self.folder.path();
        let data = folder.join("data");
        let status = match self.engine {
            Engine::Sqlite => return,
            Engine::PostgreSql => as_user("postgres", &postgres("initdb"))
                .arg("-D")
                .arg(&data)
                .args([
                    "-A",
                    "trust",
                    "-U",
                    "site",
                    "-E",
                    "UTF8",
                    "--locale=C",
                    "--no-sync",
                ])
                .stdout(Stdio::null())
                .status(),
            Engine::MariaDb => {
                std::fs::write(
                    folder.join("init.sql"),
                    "create database if not exists site;\n",
                )
                .expect("own folder");
                as_user("mysql", Path::new("/usr/bin/mariadb-install-db"))
                    .arg("--no-defaults")
                    .arg(format!("--datadir={}", data.display()))
                    .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
            }
        };
        let made = status.is_ok_and(|status| status.success());
        assert!(made, "{:?}: no database could be made", self.engine);
    }

    fn runs(&self, statement: &str) -> bool {
        const CONNECT: &str = "my ($dsn, $user, $what) = @ARGV; DBI->connect($dsn, $user, '', \
             {RaiseError => 1, PrintError => 0})->do($what)";
        Command::new("perl")
            .args(["-MDBI", "-e", CONNECT, &self.dsn(), self.user(), statement])
            .current_dir(self.folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Lets all users write to the file, because Apache's children have another user than the
    /// tests.
    pub fn open_to_all(&self) {
        let file = self.folder.path().join("site.sqlite");
        if file.exists() {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666))
                .expect("own file");
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.stop();
    }
}

const MARIADB: &str = "/usr/sbin/mariadbd";

impl Engine {
    /// Returns the Debian packages of the engine and its driver.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Engine::Sqlite => &["libdbd-sqlite3-perl"],
            Engine::PostgreSql => &["postgresql", "libdbd-pg-perl"],
            Engine::MariaDb => &["mariadb-server", "libdbd-mariadb-perl"],
        }
    }
}

/// Returns the path of one of PostgreSQL's programs. Debian has a folder for each version.
fn postgres(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let newest = versions.map(|entry| entry.path()).max();
    newest.unwrap_or_default().join("bin").join(name)
}

/// Returns a command that runs a program as another user, because neither engine runs as root.
fn as_user(user: &str, program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args([
        &format!("--reuid={user}"),
        &format!("--regid={user}"),
        "--clear-groups",
    ]);
    command.arg(program);
    command
}
