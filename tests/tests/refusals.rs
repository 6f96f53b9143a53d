//! Tests that the error log gives the reason for each refusal, in Apache's words where tools search
//! for them.

use mehari_harness::{Request, Server};

#[test]
fn refused_files_leave_a_line_with_the_reason() {
    let server = Server::builder()
        .file("htdocs/secret/a.txt", "secret")
        .file("htdocs/.hidden", "secret")
        .file("htdocs/folder/x.txt", "x")
        .file("htdocs/plain.txt", "x")
        .conf("LogLevel info\n<Location /secret/>\n    Require all denied\n</Location>\n")
        .start();
    server.get("/secret/a.txt").expect(403);
    let line = server.log.expect("client denied by server configuration: ");
    assert!(line.contains("[error]") && line.contains("[req "), "{line}");
    let about = "] [client 127.0.0.1] /secret/a.txt: client denied";
    assert!(line.contains(about), "{line}");
    assert!(line.ends_with("/htdocs/secret/a.txt"), "{line}");
    server.get("/.hidden").expect(404);
    let line = server.log.expect("a file that is never shown: ");
    assert!(line.contains("[error]"), "{line}");
    assert!(line.ends_with("/htdocs/.hidden"), "{line}");
    server.get("/missing.txt").expect(404);
    let line = server.log.expect("no such file: ");
    assert!(line.contains("[info]"), "{line}");
    assert!(line.ends_with("/htdocs/missing.txt"), "{line}");
    server.get("/folder/").expect(403);
    let line = server.log.expect("/folder/: a folder without an index");
    assert!(line.contains("] [client 127.0.0.1] /folder/: "), "{line}");
    server.get("/plain.txt").expect(200);
    assert_eq!(server.log.count("plain.txt:"), 0);
}

#[test]
fn line_about_a_password_names_the_client_that_a_trusted_proxy_has_named() {
    let server = Server::builder()
        .file("htdocs/a.txt", "a")
        .file("users", "anna:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
        .conf(
            "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n<Location />\n\
             AuthType Basic\nAuthName area\nAuthUserFile @ROOT@/users\nRequire valid-user\n\
             </Location>\n",
        )
        .start();
    let request = Request::get("/a.txt")
        .field("X-Forwarded-For", "192.0.2.7")
        .field("Authorization", "Basic YW5uYTp3cm9uZw==");
    server.send(&request).expect(401);
    let line = server
        .log
        .expect("not in AuthUserFile, or another password");
    assert!(
        line.contains("] [client 192.0.2.7] /a.txt: user anna"),
        "{line}"
    );
}

#[test]
fn document_root_that_is_no_folder_is_reported_at_the_start() {
    let server = Server::builder()
        .conf("DocumentRoot @ROOT@/not_there\n")
        .start();
    let line = server.log.expect("is not a folder");
    assert!(
        line.contains("[warn]") && line.contains("/not_there"),
        "{line}"
    );
}

#[test]
fn body_without_a_folder_for_its_file_is_refused_and_the_log_names_the_folder() {
    let server = Server::builder()
        .file("tmp/kept", "")
        .file(
            "scripts/echo.pl",
            "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\nread\";\n",
        )
        .ladder()
        .env("TMPDIR", "/proc/self/nowhere")
        .start();
    let mut connection = server.connect();
    connection.write(&Request::post("/registry/echo.pl", "x".repeat(300_000)).bytes());
    let answer = connection.read_answer("POST").expect("an answer");
    assert_eq!(answer.status, 500);
    assert!(
        connection.is_closed_by_server(),
        "the connection stays open"
    );
    let line = server.log.expect("(TMPDIR)");
    assert!(
        line.contains("/proc/self/nowhere") && line.contains("No such file"),
        "{line}"
    );
    // A body that fits into memory needs no file.
    let small = Request::post("/registry/echo.pl", "x".repeat(3000));
    assert_eq!(server.send(&small).expect(200), "read");
}

/// The test fills a small file system, which only root can make.
#[test]
fn body_for_which_the_disk_is_full_is_answered_507() {
    let server = Server::builder()
        .file("full/kept", "")
        .file(
            "scripts/echo.pl",
            "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\nread\";\n",
        )
        .ladder();
    let Some(disk) = SmallDisk::mount() else {
        println!("not root, or no mounts here: left out");
        return;
    };
    let server = server
        .env("TMPDIR", &disk.0.path().to_string_lossy())
        .start();
    let answer = server.send(&Request::post("/registry/echo.pl", "x".repeat(3_000_000)));
    assert_eq!(answer.status, 507);
    server.log.expect("No space left on device");
}

/// A mounted file system of 64 kB.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        mounted.then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // The lazy option is needed because a server of a failed test may still use the file
        // system.
        let _ = std::process::Command::new("umount")
            .arg("-l")
            .arg(self.0.path())
            .status();
    }
}
