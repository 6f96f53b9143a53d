use super::*;
use mehari_config::LogTarget;
use std::io::Read;
use std::sync::mpsc;

fn quiet() -> Complaint {
    Arc::new(|_| {})
}

/// Makes a pipe in place of a disk. The pipe is as slow as its reader.
fn fifo(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());
    path
}

#[test]
fn a_stuck_disk_loses_lines_but_blocks_no_caller_and_bounds_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = fifo(folder.path());
    // The reader opens the pipe for reading and writing, so that opening does not wait for a
    // writer.
    let mut reader = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .expect("a fifo");
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let complaint: Complaint = Arc::new(move |what| {
        let _ = tell
            .lock()
            .expect("no panic holds it")
            .send(what.to_string());
    });
    let sink = Sink::open(&LogTarget::File(path)).expect("opens");
    let spool = Spool::start(
        "test",
        sink.expect("not off"),
        Duration::from_millis(1),
        None,
        complaint,
    )
    .expect("starts");
    let line = [b"x".repeat(1023), b"\n".to_vec()].concat();
    let append =
        |count| (0..count).for_each(|_| spool.append(|into| into.extend_from_slice(&line)));
    append(1024);
    // The first chunk fills the pipe, and the second blocks the writer. The writer then takes no
    // further chunk.
    while spool.shared.lock().full.len() > 1024 * 1024 / CHUNK - 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    append(11 * 1024);
    let total = 12 * 1024;
    let (dropped, chunks) = {
        let state = spool.shared.lock();
        (state.dropped, state.full.len())
    };
    assert!(chunks <= CHUNKS);
    assert!(dropped > 0, "12 MiB cannot all have been kept");
    assert!(!spool.flush(Duration::from_millis(50)), "nobody reads");

    let expected = (total as u64 - dropped) * 1024;
    let mut buffer = vec![0; 1 << 20];
    let mut read = 0;
    while read < expected {
        read += reader.read(&mut buffer).expect("reads") as u64;
    }
    assert_eq!(read, expected, "what was kept arrives whole");
    assert!(spool.flush(Duration::from_secs(20)));
    let what = told
        .recv_timeout(Duration::from_secs(20))
        .expect("a complaint");
    let expected = format!("{dropped} lines dropped: the disk does not keep up");
    assert!(what.ends_with(&expected), "{what}");
}

#[test]
fn a_failing_disk_is_reported_with_its_reason() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let complaint: Complaint = Arc::new(move |what| {
        let _ = tell
            .lock()
            .expect("no panic holds it")
            .send(what.to_string());
    });
    let sink = Sink::open(&LogTarget::File("/dev/full".into())).expect("opens");
    let spool = Spool::start(
        "test",
        sink.expect("not off"),
        Duration::ZERO,
        None,
        complaint,
    )
    .expect("starts");
    spool.append(|into| into.extend_from_slice(b"lost\n"));
    let what = told
        .recv_timeout(Duration::from_secs(20))
        .expect("a complaint");
    assert!(what.starts_with("/dev/full: 1 lines dropped: "), "{what}");
    assert!(what.contains("No space left"), "{what}");
}

#[test]
fn dropping_the_spool_writes_all_waiting_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let sink = Sink::open(&LogTarget::File(path.clone())).expect("opens");
    let spool = Spool::start(
        "test",
        sink.expect("not off"),
        Duration::from_secs(3600),
        None,
        quiet(),
    )
    .expect("starts");
    spool.append(|into| into.extend_from_slice(b"kept\n"));
    drop(spool);
    assert_eq!(std::fs::read(path).expect("read"), b"kept\n");
}
