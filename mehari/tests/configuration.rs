//! Tests `mehari check` and `mehari directives` with the real binary: texts, streams and exit
//! statuses.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/config/tests/golden");

fn mehari(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mehari"));
    command.args(arguments).current_dir(GOLDEN);
    command.output().expect("mehari runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn golden(name: &str) -> String {
    std::fs::read_to_string(Path::new(GOLDEN).join(name)).expect(name)
}

#[test]
fn check_describes_a_configuration() {
    let told = mehari(&["check", "--text-only", "--all", "-f", "site.conf"]);
    assert_eq!(text(&told.stdout), golden("site.txt"));
    assert_eq!(text(&told.stderr), "");
    assert_eq!(told.status.code(), Some(0));
}

#[test]
fn check_describes_compression_cache_and_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let conf = folder.path().join("httpd.conf");
    let lines = "DocumentRoot .\nAddOutputFilterByType DEFLATE text/html\nCacheEnable disk /pages\n\
        <VirtualHost *>\nServerName a.example\nDocumentRoot .\nPerlOptions +Parent\nPerlModule strict\nMaxClients 3\n\
        SetOutputFilter BROTLI_COMPRESS\nCacheDisable /pages/own\n</VirtualHost>\n";
    std::fs::write(&conf, lines).expect("written");
    let conf = conf.display().to_string();
    let told = text(&mehari(&["check", "--text-only", "--all", "-f", &conf]).stdout);
    let (main, host) = told.split_once("<VirtualHost *>").expect("a host");
    let line = |label: &str, value: &str| format!("  {label:<16} {value}\n");
    for line in [
        line("compressed", "text/html: gzip"),
        line("cached", "/pages"),
    ] {
        assert!(main.contains(&line), "{line}{told}");
    }
    for line in [
        line("workers", "its own, with its own Perl"),
        line("loaded first", "module strict"),
        line("workers at most", "3"),
        line("compressed", "everything: br"),
        line("cached", "not /pages/own"),
    ] {
        assert!(host.contains(&line), "{line}{told}");
    }
}

#[test]
fn check_groups_the_directives_by_what_becomes_of_them() {
    let told = mehari(&["check", "--text-only", "-f", "site.conf"]);
    assert_eq!(text(&told.stdout), golden("site.summary.txt"));
    assert_eq!(told.status.code(), Some(0));
}

/// A folder with files for each of the ways to serve a file, and an httpd.conf.
fn folder_of_many_kinds(htaccess: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, text).expect("written");
    };
    write("htdocs/index.html", "x");
    write("htdocs/picture.png", "x");
    write("htdocs/deep/er/.htaccess", htaccess);
    write("htdocs/deep/er/page.html", "x");
    write("perl/one.pl", "1");
    write("perl/two.pl", "1");
    write("perl/notes.inc", "x");
    write(
        "httpd.conf",
        "DocumentRoot htdocs\n<Directory htdocs>\nAllowOverride AuthConfig\n</Directory>\n\
         Alias /perl/ perl/\n<Location /perl>\nSetHandler perl-script\n\
         PerlResponseHandler ModPerl::Registry\nOptions +ExecCGI\n</Location>\n\
         <Files *.inc>\nRequire all denied\n</Files>\n\
         <Location /status>\nSetHandler server-status\n</Location>\n",
    );
    folder
}

#[test]
fn check_prints_what_is_served_at_which_url() {
    let folder = folder_of_many_kinds("Require all granted\n");
    let conf = folder.path().join("httpd.conf").display().to_string();
    let told = text(&mehari(&["check", "-f", &conf]).stdout);
    for words in [
        "\nServed by the main server\n",
        "  /perl/           refused: denied by the configuration: /perl/notes.inc\n",
        "script on the rung `registry`: 2 files, the first /perl/one.pl\n",
        "  /                sent as it is: 3 files, the first /deep/er/page.html\n",
        "  /status          server-status\n",
    ] {
        assert!(told.contains(words), "{words}{told}");
    }
    let told = mehari(&["check", "-f", &conf, "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let rows = told["served"].as_array().expect("rows");
    let is_registry = |row: &&serde_json::Value| row["example"] == "/perl/one.pl";
    assert_eq!(rows.iter().find(is_registry).expect("a row")["files"], 2);
}

#[test]
fn check_finds_the_problems_of_htaccess_files_and_of_envvars() {
    let folder = folder_of_many_kinds("Requir all granted\nSetHandler x\n");
    let conf = folder.path().join("httpd.conf").display().to_string();
    let told = mehari(&["check", "-f", &conf]);
    let errors = text(&told.stderr);
    assert!(
        errors.contains("/deep/er/.htaccess:1:1: there is no directive `Requir`"),
        "{errors}"
    );
    assert!(errors.contains("/.htaccess:2:1: SetHandler"), "{errors}");
    assert_eq!(told.status.code(), Some(1));
    let folder = folder_of_many_kinds("");
    std::fs::write(folder.path().join("envvars"), "exit 3\n").expect("written");
    let conf = folder.path().join("httpd.conf").display().to_string();
    let errors = text(&mehari(&["check", "-f", &conf]).stderr);
    assert!(
        errors.contains("/envvars: expected a shell script"),
        "{errors}"
    );
}

#[test]
fn check_with_text_only_runs_no_perl() {
    let folder = tempfile::tempdir().expect("a folder");
    let conf = folder.path().join("httpd.conf");
    let mark = folder.path().join("ran");
    let code = format!("open my $file, '>', '{}'; 1;\n", mark.display());
    std::fs::write(
        folder.path().join("start.pl"),
        format!("# add_config\n{code}"),
    )
    .expect("written");
    std::fs::write(
        folder.path().join("Made.pm"),
        format!("package Made;\n{code}"),
    )
    .expect("written");
    let lines = format!(
        "DocumentRoot .\nPerlSwitches -I{}\nPerlRequire start.pl\nPerlLoadModule Made\nPerl {code}\
         <Perl>\n{code}</Perl>\nMadeByPerl on\n<MadeSection x>\nAnything\n</MadeSection>\nServerName a.example\n",
        folder.path().display()
    );
    std::fs::write(&conf, lines).expect("written");
    let conf = conf.display().to_string();
    for options in [&["--text-only"][..], &["--text-only", "--json"]] {
        let told = mehari(&[&["check", "-f", &conf], options].concat());
        let (told, errors) = (text(&told.stdout), text(&told.stderr));
        assert!(!mark.exists(), "{options:?} runs Perl");
        assert!(told.contains("a.example"), "{told}{errors}");
        assert!(told.contains("its Perl is not run"), "{told}{errors}");
    }
}

#[test]
fn check_prints_every_problem_on_stderr_and_fails() {
    let told = mehari(&["check", "-f", "problems.conf"]);
    assert_eq!(text(&told.stdout), "");
    let stderr = text(&told.stderr);
    // In this test a perl runs the `<Perl>` section. The perl reads an empty standard input without
    // a problem.
    let problems: String = golden("problems.txt")
        .split_inclusive('\n')
        .filter(|line| !line.contains("Perl cannot be run"))
        .collect();
    assert!(stderr.starts_with(problems.trim()), "{stderr}");
    let count = problems.lines().count();
    assert!(
        stderr.contains(&format!("mehari check: {count} problems; ")),
        "{stderr}"
    );
    assert_eq!(told.status.code(), Some(1));
}

#[test]
fn check_prints_json_for_valid_and_for_wrong_configurations() {
    let told = mehari(&[
        "check",
        "--text-only",
        "-f",
        "site.conf",
        "-D",
        "STAGING",
        "--json",
    ]);
    let site: serde_json::Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert_eq!(site["site"]["server_admin"], "staging@example.com");
    assert_eq!(
        site["sections"][1]["settings"]["handler"]["script"],
        "registry"
    );
    assert_eq!(site["problems"], serde_json::json!([]));
    let told = mehari(&["check", "-f", "problems.conf", "--json"]);
    let wrong: serde_json::Value = serde_json::from_slice(&told.stdout).expect("JSON");
    assert_eq!(wrong["problems"][0]["line"], 1);
    assert_eq!(wrong["problems"][0]["file"], "problems.conf");
    assert_eq!(told.status.code(), Some(1));
}

#[test]
fn check_examines_a_folder_as_serve_would() {
    let told = mehari(&["check", "."]);
    let page = text(&told.stdout);
    assert!(
        page.contains("rung `auto`") && page.contains("index.html index.pl index.cgi"),
        "{page}"
    );
    let told = mehari(&["check", "site.conf"]);
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("`-f` before a configuration"));
}

#[test]
fn help_exits_with_0_and_has_an_example() {
    for command in ["check", "directives"] {
        let told = mehari(&[command, "--help"]);
        assert_eq!(told.status.code(), Some(0));
        assert!(text(&told.stdout).contains("Example"), "{command}");
    }
}

#[test]
fn directives_prints_the_table_and_its_rows() {
    let table = text(&mehari(&["directives"]).stdout);
    let all: serde_json::Value =
        serde_json::from_slice(&mehari(&["directives", "--json"]).stdout).expect("JSON");
    for row in all["directives"].as_array().expect("rows") {
        let name = row["name"].as_str().expect("a name");
        assert!(table.contains(&format!("  {name} ")), "{name}");
    }
    let row = text(&mehari(&["directives", "maxclients"]).stdout);
    assert!(
        row.starts_with("MaxRequestWorkers NUMBER (1 to 100000)\n"),
        "{row}"
    );
    let told = mehari(&["directives", "MaxCleints"]);
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("did you mean `MaxClients`?"));
}

#[test]
fn directives_searches_for_a_word_in_names_and_then_in_descriptions() {
    let told = mehari(&["directives", "maxclient"]);
    assert_eq!(told.status.code(), Some(0));
    assert!(text(&told.stdout).starts_with("MaxRequestWorkers, MaxClients\n    "));
    let found = text(&mehari(&["directives", "HANDSHAKE"]).stdout);
    let rows: Vec<&str> = found.lines().collect();
    assert!(!rows.is_empty(), "a description has the word");
    for row in rows.chunks(2) {
        let both = row.concat().to_lowercase();
        assert!(both.contains("handshake"), "{found}");
    }
}

#[test]
fn output_that_cannot_be_written_fails_and_a_reader_that_closes_the_pipe_is_no_error() {
    let printed_to = |out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mehari"));
        let output = command.arg("directives").stdout(out).output();
        output.expect("the command runs")
    };
    let full = std::fs::File::create("/dev/full").expect("this system has it");
    let refused = printed_to(full.into());
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("mehari: cannot write to standard output: "),
        "{told}"
    );
    let (reader, writer) = UnixStream::pair().expect("a pair");
    drop(reader);
    let left = printed_to(OwnedFd::from(writer).into());
    assert_eq!(left.status.code(), Some(128 + 13));
    assert_eq!(String::from_utf8_lossy(&left.stderr), "");
}

#[test]
fn wrong_words_are_answered_with_what_was_expected() {
    for (words, expected) in [
        ("serve -p 5000x", "expected a whole number"),
        ("serve app.psgi -r", "expected `--watch`"),
        (
            "serve --host 127.0.0.1 app.psgi",
            "expected `--listen HOST:PORT`",
        ),
        ("site.conf", "did you mean `mehari serve site.conf`?"),
        ("serv demo", "did you mean `serve`?"),
    ] {
        let arguments: Vec<&str> = words.split(' ').collect();
        let output = mehari(&arguments);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {told}");
        assert!(told.contains(expected), "{words}: {told}");
        assert_eq!(told.lines().count(), 1, "{words}: {told}");
    }
}

#[test]
fn wrong_arguments_of_every_command_are_refused_with_one_line_and_status_2() {
    for words in [
        "serve --workres 3",
        "serve --reload",
        "check",
        "check -f",
        "check -f a b",
        "check -D X .",
        "directives --jsn",
        "manual",
        "certificate --nonsense",
        "status --nonsense",
        "reload --nonsense",
        "stop --nonsense",
        "drain",
        "resume --nonsense",
        "cache",
        "cache purge",
        "bench",
        "bench --nonsense http://127.0.0.1:9/",
        "bench merge",
        "bench export",
        "bench machine --nonsense",
        "compare --nonsense",
        "parity --nonsense",
        "record --nonsense",
        "replay --nonsense",
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mehari"));
        let output = command.args(words.split(' ')).output();
        let output = output.expect("the command runs");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words}: {told}");
        assert_eq!(told.lines().count(), 1, "{words}: {told}");
        assert!(told.starts_with("mehari "), "{words}: {told}");
        assert_eq!(text(&output.stdout), "", "{words}");
    }
}
