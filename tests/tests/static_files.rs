//! Tests static files: they are served from memory without a system call for the disk, and are
//! always current.

use mehari_harness::{
    eventually, needs, needs_machine, trace, Builder, Connection, Request, Server, PATIENCE,
};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the system calls that name a file or read its status while `what` runs.
fn looks_at_files(server: &Server, what: impl FnOnce()) -> Vec<String> {
    let calls = "file,fstat,newfstatat,statx,inotify_add_watch";
    let mut looks = trace::calls(server, calls, what);
    // A thread of the server measures the workers' memory meanwhile.
    let thread = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let measuring = looks.iter().filter(|line| line.contains("\"/proc/"));
    let measuring: BTreeSet<String> = measuring.map(|line| thread(line)).collect();
    looks.retain(|line| !measuring.contains(&thread(line)));
    looks
}

#[track_caller]
fn fetch(connection: &mut Connection, target: &str) -> Vec<u8> {
    let answer = connection.send(&Request::get(target)).expect("an answer");
    assert_eq!(answer.status, 200, "{target}");
    assert!(answer.complete, "{target}: cut off");
    answer.body
}

#[test]
fn unchanged_files_are_sent_without_a_system_call_for_the_disk() {
    needs!("strace");
    let large = "0123456789abcdef".repeat(20_000);
    let server = Server::builder()
        .file("htdocs/deep/small.css", "small")
        .file("htdocs/deep/small.css.gz", "packed")
        .file("htdocs/large.bin", &large)
        .file("htdocs/index.html", "index")
        .file("htdocs/real/page.html", "page")
        .conf("DirectoryIndex index.htm index.html\n")
        .start();
    symlink("real", server.site.path("htdocs/link")).expect("a link");
    let mut connection = server.connect();
    let targets = ["/deep/small.css", "/large.bin", "/", "/link/page.html"];
    let mut all = || {
        for target in targets {
            fetch(&mut connection, target);
        }
    };
    all();
    let rounds = 200;
    let begun = std::time::Instant::now();
    let looks = looks_at_files(&server, || (0..rounds).for_each(|_| all()));
    // The front looks at a file once a second in any case, and a debug build is slow under strace.
    let seconds = begun.elapsed().as_secs() as usize;
    let most = targets.len() * (12 + seconds);
    assert!(
        looks.len() < most,
        "{} looks:\n{}",
        looks.len(),
        looks.join("\n")
    );
    let by_name = looks.iter().filter(|line| line.contains("large.bin"));
    let most = rounds / 10 + seconds;
    assert!(by_name.count() < most, "{}", looks.join("\n"));
}

/// A compressed neighbour is a file of its own, so the rules may refuse it.
#[test]
fn compressed_neighbours_are_sent_only_if_the_client_may_have_them() {
    let mut builder = Server::builder()
        .file("outside/secret", "secret")
        .file(
            "htdocs/own/.htaccess",
            "<Files *.gz>\nRequire all denied\n</Files>\n",
        )
        .file("htdocs/links/page.txt", "plain");
    let ruled = [
        "host",
        "redirect",
        "folder",
        "elsewhere",
        "harmless",
        "htaccess",
    ];
    for folder in ["open", "files", "place", "own"].into_iter().chain(ruled) {
        builder = builder
            .file(&format!("htdocs/{folder}/page.txt"), "plain")
            .file(&format!("htdocs/{folder}/page.txt.gz"), "packed");
    }
    let server = builder
        .conf(
            "<Directory @ROOT@/htdocs>\nAllowOverride All\nOptions -FollowSymLinks\n</Directory>\n\
             <Directory @ROOT@/htdocs/files>\n<FilesMatch \\.gz$>\nRequire user nobody\n</FilesMatch>\n</Directory>\n\
             <LocationMatch ^/place/.*gz$>\nRequire all denied\n</LocationMatch>\n\
             RewriteEngine On\nRewriteRule ^/host/.*\\.gz$ - [F]\nRewriteRule /\\.ht - [F]\n\
             RedirectMatch 410 ^/redirect/.*\\.gz$\n\
             <Directory @ROOT@/htdocs/folder>\nOptions +FollowSymLinks\nRewriteEngine On\n\
             RewriteCond %{REQUEST_URI} gz$\nRewriteRule ^page - [G]\n</Directory>\n\
             <Directory @ROOT@/htdocs/elsewhere>\nOptions +FollowSymLinks\nRewriteEngine On\n\
             RewriteRule gz$ /open/page.txt\n</Directory>\n\
             <Directory @ROOT@/htdocs/harmless>\nOptions +FollowSymLinks\nRewriteEngine On\n\
             RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule . /open/page.txt\n\
             RewriteRule gz$ - [E=X:1]\nRewriteRule ^\\. - [F]\n</Directory>\n",
        )
        .file(
            "htdocs/htaccess/.htaccess",
            "Options +FollowSymLinks\nRewriteEngine On\nRewriteRule \\.gz$ - [R=404]\n",
        )
        .start();
    let outside = server.site.path("outside/secret");
    symlink(outside, server.site.path("htdocs/links/page.txt.gz")).expect("a link");
    for (folder, expected) in [
        ("open", "packed"),
        ("files", "plain"),
        ("place", "plain"),
        ("own", "plain"),
        ("links", "plain"),
        ("host", "plain"),
        ("redirect", "plain"),
        ("folder", "plain"),
        ("elsewhere", "plain"),
        ("harmless", "packed"),
        ("htaccess", "plain"),
    ] {
        let url = format!("/{folder}/page.txt");
        let answer = server.send(&Request::get(&url).field("Accept-Encoding", "gzip"));
        assert_eq!(answer.expect(200), expected, "{url}");
    }
}

type Change = fn(&Path, usize);

/// Paths, and code that changes what each path leads to. The next request must see the change.
const CHANGES: [(&str, Change); 8] = [
    ("/written.txt", |root, turn| {
        fs::write(root.join("written.txt"), turn.to_string()).expect("written")
    }),
    ("/replaced.txt", |root, turn| {
        fs::write(root.join("next"), turn.to_string()).expect("written");
        fs::rename(root.join("next"), root.join("replaced.txt")).expect("moved")
    }),
    ("/made_again.txt", |root, turn| {
        // In the first turn, the file does not exist.
        let _ = fs::remove_file(root.join("made_again.txt"));
        fs::write(root.join("made_again.txt"), turn.to_string()).expect("written")
    }),
    ("/folder/file.txt", |root, turn| {
        fs::create_dir(root.join("next_folder")).expect("a folder");
        fs::write(root.join("next_folder/file.txt"), turn.to_string()).expect("written");
        let _ = fs::rename(root.join("folder"), root.join(format!("folder_{turn}")));
        fs::rename(root.join("next_folder"), root.join("folder")).expect("moved")
    }),
    ("/link/file.txt", |root, turn| {
        let target = format!("target_{}", turn % 2);
        fs::create_dir_all(root.join(&target)).expect("a folder");
        fs::write(root.join(&target).join("file.txt"), turn.to_string()).expect("written");
        symlink(&target, root.join("next_link")).expect("a link");
        fs::rename(root.join("next_link"), root.join("link")).expect("moved")
    }),
    ("/named.txt", |root, turn| {
        let target = format!("target_{turn}.txt");
        fs::write(root.join(&target), turn.to_string()).expect("written");
        let _ = fs::remove_file(root.join("named.txt"));
        symlink(&target, root.join("named.txt")).expect("a link")
    }),
    ("/indexed/", |root, turn| {
        // The first file of DirectoryIndex comes and goes.
        fs::create_dir_all(root.join("indexed")).expect("a folder");
        fs::write(root.join("indexed/index.html"), turn.to_string()).expect("written");
        match turn % 2 {
            0 => drop(fs::remove_file(root.join("indexed/index.htm"))),
            _ => fs::write(root.join("indexed/index.htm"), turn.to_string()).expect("written"),
        }
    }),
    // The new file has the same length and time as the old file.
    ("/disguised.txt", |root, turn| {
        let path = root.join("disguised.txt");
        fs::write(&path, format!("{turn:08}")).expect("written");
        let day = std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400);
        let file = fs::File::options().write(true).open(&path).expect("ours");
        file.set_modified(day).expect("its times");
    }),
];

fn check_changes(server: &Server, turns: usize) {
    let root = server.site.path("htdocs");
    let mut kept = server.connect();
    for turn in 0..turns {
        for (target, change) in CHANGES {
            change(&root, turn);
            let fresh = turn % 3 == 2;
            let body = if fresh {
                server.get(target).expect(200).into_bytes()
            } else {
                fetch(&mut kept, target)
            };
            let said: usize = String::from_utf8_lossy(&body).parse().expect("a number");
            assert_eq!(
                said, turn,
                "{target}, turn {turn}, fresh connection: {fresh}"
            );
        }
    }
}

fn site() -> Builder {
    Server::builder()
        .file("htdocs/hot.txt", "hot")
        .conf("DirectoryIndex index.htm index.html\n")
}

#[test]
fn changes_are_seen_at_once_under_load() {
    let server = site().start();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut connection = server.connect();
                while !over.load(Ordering::Relaxed) {
                    fetch(&mut connection, "/hot.txt");
                }
            });
        }
        let outcome = std::panic::catch_unwind(|| check_changes(&server, 60));
        over.store(true, Ordering::Relaxed);
        outcome.expect("every change was seen");
    });
}

/// The reactor lists a socket as ready as soon as the socket is registered, because it can be
/// written. The list of the next turn then begins with the socket, although the client has changed
/// a file before it sent the request.
#[test]
fn change_is_seen_although_the_reactor_names_the_request_first() {
    needs!("strace");
    let server = site()
        .file("htdocs/allowed/.htaccess", "")
        .file("htdocs/allowed/page.txt", "page")
        .conf("<Directory />\nAllowOverride All\n</Directory>\n")
        .start();
    let root = server.site.path("htdocs");
    trace::delayed(&server, "epoll_ctl:delay_exit=50000", || {
        for turn in 0..5 {
            fs::write(root.join("hot.txt"), format!("hot {turn}")).expect("written");
            let mut connection = server.connect();
            fetch(&mut connection, "/hot.txt");
            fs::write(root.join("hot.txt"), format!("hotter {turn}")).expect("written");
            let seen = fetch(&mut connection, "/hot.txt");
            assert_eq!(String::from_utf8_lossy(&seen), format!("hotter {turn}"));

            fs::write(root.join("allowed/.htaccess"), "").expect("written");
            let mut connection = server.connect();
            fetch(&mut connection, "/allowed/page.txt");
            let denied = "Require all denied\n";
            fs::write(root.join("allowed/.htaccess"), denied).expect("written");
            let request = Request::get("/allowed/page.txt");
            let answer = connection.send(&request).expect("an answer");
            assert_eq!(answer.status, 403, "turn {turn}");
        }
    });
}

/// Changes a .htaccess file of a site.
type RuleChange = fn(&Path, &str);

/// Paths, and code that changes which .htaccess file holds for each path. Its text is the last
/// argument.
const RULE_CHANGES: [(&str, RuleChange); 6] = [
    ("/written/page.txt", |root, text| {
        fs::write(root.join("written/.htaccess"), text).expect("written")
    }),
    ("/replaced/page.txt", |root, text| {
        fs::write(root.join("next"), text).expect("written");
        fs::rename(root.join("next"), root.join("replaced/.htaccess")).expect("moved")
    }),
    ("/linked/page.txt", |root, text| {
        // Nothing changes in the folder after the first turn.
        fs::write(root.join("rules"), text).expect("written");
        let _ = symlink(root.join("rules"), root.join("linked/.htaccess"));
    }),
    ("/named/page.txt", |root, text| {
        fs::write(root.join("other_name"), text).expect("written");
        let _ = fs::hard_link(root.join("other_name"), root.join("named/.htaccess"));
    }),
    ("/switched/page.txt", |root, text| {
        let target = format!("release_{}", text.len());
        fs::create_dir_all(root.join(&target)).expect("a folder");
        fs::write(root.join(&target).join("page.txt"), "page").expect("written");
        fs::write(root.join(&target).join(".htaccess"), text).expect("written");
        symlink(&target, root.join("next_link")).expect("a link");
        fs::rename(root.join("next_link"), root.join("switched")).expect("moved")
    }),
    ("/moved/inner/page.txt", |root, text| {
        let next = format!("moved_{}", text.len());
        let _ = fs::remove_dir_all(root.join(&next));
        fs::create_dir_all(root.join(&next).join("inner")).expect("a folder");
        fs::write(root.join(&next).join("inner/page.txt"), "page").expect("written");
        fs::write(root.join(&next).join("inner/.htaccess"), text).expect("written");
        let _ = fs::remove_dir_all(root.join("before"));
        let _ = fs::rename(root.join("moved"), root.join("before"));
        fs::rename(root.join(&next), root.join("moved")).expect("moved")
    }),
];

#[test]
fn changed_htaccess_files_count_at_once() {
    let mut builder =
        Server::builder().conf("<Directory @ROOT@/htdocs>\nAllowOverride All\n</Directory>\n");
    for (target, _) in &RULE_CHANGES[..4] {
        builder = builder.file(&format!("htdocs{target}"), "page");
    }
    let server = builder.start();
    let root = server.site.path("htdocs");
    let mut kept = server.connect();
    for turn in 0..20 {
        for (target, change) in RULE_CHANGES {
            let is_open = turn % 2 == 0;
            let word = if is_open { "granted" } else { "denied" };
            change(&root, &format!("Require all {word}\n"));
            let answer = kept.send(&Request::get(target)).expect("an answer");
            assert_eq!(answer.status == 200, is_open, "{target}, turn {turn}");
        }
    }
}

#[test]
fn changes_are_seen_without_watches_too_and_the_log_says_so() {
    needs_machine!(
        has_user_namespaces(),
        "no user namespaces: the limit of watches cannot be set for one program"
    );
    let starter = tempfile::tempdir().expect("a folder");
    let script = starter.path().join("few_watches");
    let text = format!(
        "#!/bin/sh\nexec unshare --user --map-root-user sh -c \
         'echo 2 >/proc/sys/user/max_inotify_watches; exec \"$@\"' sh {} \"$@\"\n",
        mehari_harness::binary::mehari().display()
    );
    fs::write(&script, text).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its mode");
    let server = site().program(script).start();
    check_changes(&server, 5);
    server.log.expect("there are no more inotify watches");
}

fn has_user_namespaces() -> bool {
    let mut unshare = std::process::Command::new("unshare");
    let status = unshare.args(["--user", "--map-root-user", "true"]).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn lost_events_make_the_front_check_all_files_again() {
    let server = site()
        .file("htdocs/lost.txt", "before")
        .file("htdocs/noise", "")
        .file("htdocs/other_noise", "")
        .start();
    let mut connection = server.connect();
    assert_eq!(fetch(&mut connection, "/lost.txt"), b"before");
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a limit");
    let most: usize = most.trim().parse().expect("a number");
    server.signal(Signal::Stop);
    let root = server.site.path("htdocs");
    for turn in 0..most + 100 {
        // The names alternate, because the kernel does not queue an event that equals the last
        // event.
        let name = ["noise", "other_noise"][turn % 2];
        let mode = fs::Permissions::from_mode(0o644);
        fs::set_permissions(root.join(name), mode).expect("its mode");
    }
    fs::write(root.join("lost.txt"), "after").expect("written");
    server.signal(Signal::Cont);
    let mut connection = server.connect();
    assert_eq!(fetch(&mut connection, "/lost.txt"), b"after");
    // The length differs too, because two changes may have the same time.
    fs::write(root.join("lost.txt"), "once more").expect("written");
    assert_eq!(fetch(&mut connection, "/lost.txt"), b"once more");
}

#[test]
fn files_are_copied_where_sendfile_is_off() {
    needs!("strace");
    let large: Vec<u8> = (0..900_000_u32).map(|at| (at / 7) as u8).collect();
    let server = site()
        .file("htdocs/copied/small.txt", "")
        .file("htdocs/sent/small.txt", "")
        .conf("<Location /copied>\nEnableSendfile Off\n</Location>\n")
        .start();
    for place in ["copied", "sent"] {
        let path = server.site.path(&format!("htdocs/{place}/large.bin"));
        fs::write(path, &large).expect("written");
    }
    let mut connection = server.connect();
    let mut sends = |place: &str| {
        let target = format!("/{place}/large.bin");
        let calls = trace::calls(&server, "file,sendfile", || {
            assert!(
                fetch(&mut connection, &target) == large,
                "{place}: other bytes"
            );
            let range = Request::get(&target).field("Range", "bytes=70000-799999");
            let part = connection.send(&range).expect("an answer");
            assert_eq!(part.status, 206);
            assert!(part.body == large[70_000..800_000], "{place}: another part");
        });
        let is_sent = |line: &&String| line.contains("sendfile(");
        calls.iter().filter(is_sent).count()
    };
    assert_eq!(sends("copied"), 0);
    assert!(sends("sent") > 0);
}

#[test]
fn file_that_is_cut_while_it_is_sent_ends_the_connection() {
    let size = 64 << 20;
    let server = site().start();
    let path = server.site.path("htdocs/huge.bin");
    fs::write(&path, vec![b'x'; size]).expect("written");
    let mut connection = server.connect();
    connection.write(b"GET /huge.bin HTTP/1.1\r\nHost: here\r\n\r\n");
    let mut start = [0; 1000];
    connection
        .stream()
        .read_exact(&mut start)
        .expect("the head");
    // The client reads no more, so most of the file is not sent yet.
    let file = fs::File::options().write(true).open(&path).expect("ours");
    file.set_len(1 << 20).expect("cut");
    let mut rest = Vec::new();
    // A reset ends the connection too.
    let _ = connection.stream().read_to_end(&mut rest);
    let got = start.len() + rest.len();
    assert!(got < size, "{got} bytes of a file that had been cut");
    server.log.expect("a file could not be sent to its end");
    assert!(eventually(PATIENCE, || server.get("/hot.txt").status == 200));
}

/// Checks that a thread puts the first watch on a folder. For the first watch the kernel marks
/// every cached name in the folder, which takes long for a hundred thousand names. `folder` is
/// below the document root and was not requested before.
fn assert_first_watch_is_a_threads(server: &Server, folder: &str, page: &str) {
    let calls = trace::calls(server, "file,inotify_add_watch", || {
        server.get(&format!("/{folder}/{page}")).expect(200);
    });
    let end = format!("/{folder}\"");
    let is_watch = |line: &&String| line.contains("inotify_add_watch") && line.contains(&end);
    let watches: Vec<&String> = calls.iter().filter(is_watch).collect();
    let of_loop = format!("{} ", server.pid());
    let first = watches.first().expect("a watch");
    assert!(!first.starts_with(&of_loop), "{watches:#?}");
    assert!(
        watches.iter().any(|line| line.starts_with(&of_loop)),
        "{watches:#?}"
    );
    // The watches on the folders above must not contain events for which the kernel marks all
    // names.
    let of_children = ["IN_ATTRIB", "IN_MODIFY", "IN_CLOSE_WRITE"];
    let above = calls
        .iter()
        .filter(|line| line.contains("inotify_add_watch") && !line.contains("/htdocs"));
    for line in above {
        assert!(
            !of_children.iter().any(|event| line.contains(event)),
            "{line}"
        );
    }
}

#[test]
fn thread_puts_the_first_watch_on_a_folder() {
    needs!("strace");
    let server = site().file("htdocs/full/page.html", "page").start();
    assert_first_watch_is_a_threads(&server, "full", "page.html");
}

/// The congestion control BBR sends at a limited rate to measure the network. Within one host there
/// is no network to measure.
#[test]
fn a_large_file_for_a_client_on_this_host_is_not_paced() {
    needs!("strace");
    let control = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let is_paced = control.expect("Linux tells").starts_with("bbr");
    let server = site()
        .file("htdocs/large.bin", &"0123456789abcdef".repeat(100_000))
        .file("htdocs/small.txt", "small")
        .start();
    let mut connection = server.connect();
    let mut told = |target: &str| {
        let calls = trace::calls(&server, "file,setsockopt", || {
            fetch(&mut connection, target);
        });
        let is_ours = |line: &&String| line.contains("TCP_CONGESTION");
        calls.iter().filter(is_ours).count()
    };
    assert_eq!(told("/small.txt"), 0);
    assert_eq!(told("/large.bin"), usize::from(is_paced));
    assert_eq!(told("/large.bin"), 0, "once a connection");
}

/// The folder has more files than any cache holds.
#[test]
fn a_folder_of_a_hundred_thousand_files_is_served_and_watched() {
    needs!("strace");
    const FILES: usize = 100_000;
    let server = site().file("htdocs/many/0.txt", "0").start();
    let folder = server.site.path("htdocs/many");
    for number in 0..FILES {
        fs::write(folder.join(format!("{number}.txt")), number.to_string()).expect("written");
    }
    assert_first_watch_is_a_threads(&server, "many", "1.txt");
    let mut connection = server.connect();
    let mut check = |number: usize, expected: &str| {
        let body = fetch(&mut connection, &format!("/many/{number}.txt"));
        assert_eq!(String::from_utf8_lossy(&body), expected);
    };
    // The requests come in another order than that of the folder, and for more files than there are
    // cached routes.
    for turn in 0..10_000 {
        let number = turn * 7919 % FILES;
        check(number, &number.to_string());
    }
    for number in [0, 7919, 99_999] {
        fs::write(folder.join(format!("{number}.txt")), "changed").expect("written");
        check(number, "changed");
    }
}
