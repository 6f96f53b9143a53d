//! Tests that files on a slow disk do not delay other requests.

use mehari_harness::{binary, needs, Connection, Request, Server};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A mounted file with a delay on each read (`peers/slow-disk`).
struct SlowFile {
    place: PathBuf,
    child: Child,
}

impl SlowFile {
    /// Mounts the file. Returns `None` if this system does not allow it.
    fn new(image: &Path, place: &Path, milliseconds: u32, reads: u32) -> Option<SlowFile> {
        let mut child = Command::new(binary::workspace().join("peers/slow-disk"))
            .arg(image)
            .arg(place)
            .args([milliseconds.to_string(), reads.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("perl is there");
        let mut said = String::new();
        let stdout = child.stdout.take().expect("it was piped");
        let read = BufReader::new(stdout).read_line(&mut said);
        if read.is_ok() && said == "ready\n" {
            return Some(SlowFile {
                place: place.to_path_buf(),
                child,
            });
        }
        child.wait().expect("our child");
        needs::machine(false, "a slow file needs root and /dev/fuse");
        None
    }
}

impl Drop for SlowFile {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.place).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "unmounted");
        self.child.wait().expect("our child");
    }
}

fn get(connection: &mut Connection, target: &str) -> Vec<u8> {
    let answer = connection.send(&Request::get(target)).expect("an answer");
    assert_eq!(answer.status, 200, "{target}");
    assert!(answer.complete, "{target}: cut off");
    answer.body
}

/// There are more clients than reads at the same time, and each read takes a while.
#[test]
fn reads_that_wait_for_the_disk_do_not_delay_other_requests() {
    const CLIENTS: usize = 48;
    let server = Server::builder()
        .file("htdocs/hot.txt", "hot")
        .file("htdocs/slow.bin", "")
        .file("htdocs/slow.txt", "")
        .conf("")
        .start();
    let mut bytes: Vec<u8> = (0..1_500_000_u32).map(|at| (at / 7) as u8).collect();
    bytes.extend_from_slice(b"end");
    let large = server.site.path("large.image");
    std::fs::write(&large, &bytes).expect("written");
    let small = server.site.path("small.image");
    std::fs::write(&small, &bytes[..5000]).expect("written");
    let place = |name| server.site.path(name);
    let Some(_large) = SlowFile::new(&large, &place("htdocs/slow.bin"), 100, 4) else {
        return;
    };
    let Some(_small) = SlowFile::new(&small, &place("htdocs/slow.txt"), 100, 1) else {
        return;
    };
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (server, answered, bytes) = (&server, &answered, &bytes);
            scope.spawn(move || {
                let small = number % 4 == 0;
                let target = if small { "/slow.txt" } else { "/slow.bin" };
                let expected = if small { &bytes[..5000] } else { &bytes[..] };
                let got = get(&mut server.connect(), target);
                answered.fetch_add(1, Ordering::Relaxed);
                assert!(got == expected, "{target}: other bytes");
            });
        }
        let mut hot = server.connect();
        let mut meanwhile = 0;
        while answered.load(Ordering::Relaxed) < CLIENTS {
            assert_eq!(get(&mut hot, "/hot.txt"), b"hot");
            meanwhile += 1;
        }
        // One read of the disk takes as long as hundreds of requests for other files.
        assert!(
            meanwhile > 200,
            "{meanwhile} answers while the disk was busy"
        );
    });
}

#[test]
fn file_that_cannot_be_read_to_its_end_ends_the_connection() {
    let server = Server::builder()
        .file("htdocs/broken.bin", "")
        .conf("")
        .start();
    let image = server.site.path("broken.image");
    std::fs::write(&image, vec![b'x'; 3_000_000]).expect("written");
    let Some(_slow) = SlowFile::new(&image, &server.site.path("htdocs/broken.bin"), 0, 1) else {
        return;
    };
    // The file system says that the file is longer than it is: reads beyond the real end fail.
    let file = std::fs::File::options()
        .write(true)
        .open(&image)
        .expect("ours");
    file.set_len(1_000_000).expect("cut");
    let answer = server.get("/broken.bin");
    assert_eq!(answer.status, 200);
    assert!(!answer.complete && answer.body.len() < 3_000_000);
    server.log.expect("a file could not be sent to its end");
}
