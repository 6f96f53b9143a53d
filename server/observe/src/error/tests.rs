use super::*;

fn open(level: LogLevel) -> (tempfile::TempDir, ErrorLog) {
    let folder = tempfile::tempdir().expect("a folder");
    let target = LogTarget::File(folder.path().join("error.log"));
    let log = ErrorLog::open(&target, level).expect("opens");
    (folder, log)
}

fn written(folder: &tempfile::TempDir, log: &ErrorLog) -> Vec<String> {
    assert!(log.flush(Duration::from_secs(20)));
    let text = std::fs::read_to_string(folder.path().join("error.log")).expect("read");
    text.lines().map(str::to_string).collect()
}

/// Returns the line without its time.
fn after_time(line: &str) -> &str {
    line.split_once("] ").expect("a time in brackets").1
}

#[test]
fn a_message_is_one_line_with_its_origin() {
    let (folder, log) = open(LogLevel::Info);
    let origin = Origin {
        pid: Some(123),
        request: Some(4711),
        worker: Some(124),
        client: "192.0.2.7".parse().ok(),
        host: 0,
        level: None,
    };
    log.log(
        LogLevel::Error,
        origin,
        "first\nsecond\x1b[2J at a.pl line 3.\n",
    );
    log.notice(format_args!("{} of {}", 1, 2));
    let lines = written(&folder, &log);
    assert_eq!(lines.len(), 2);
    assert_eq!(
        after_time(&lines[0]),
        "[error] [pid 123] [req 4711] [worker 124] [client 192.0.2.7] first\\nsecond\\x1b[2J at a.pl line 3."
    );
    let own = format!("[notice] [pid {}] 1 of 2", std::process::id());
    assert_eq!(after_time(&lines[1]), own);
}

#[test]
fn messages_below_the_level_are_not_written() {
    let (folder, log) = open(LogLevel::Warn);
    assert!(log.takes(LogLevel::Warn) && !log.takes(LogLevel::Notice));
    log.info("quiet");
    log.notice("quiet");
    log.warn("heard");
    log.log(LogLevel::Emerg, Origin::default(), "heard too");
    let lines = written(&folder, &log);
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with("heard") && lines[1].ends_with("heard too"));
}

#[test]
fn a_repeated_message_is_summarised_and_other_messages_are_written() {
    let (folder, log) = open(LogLevel::Info);
    for _ in 0..1000 {
        log.warn("the same again");
    }
    log.warn("another");
    let lines = summarised(&folder, &log);
    let whole = lines
        .iter()
        .filter(|line| line.ends_with("] the same again"));
    assert_eq!(whole.count() as u64, flood::LIMIT);
    assert!(lines.iter().any(|line| line.ends_with("] another")));
    let summary = lines.last().expect("has lines");
    let expected = format!(
        "the same warn came {} more times: the same again",
        1000 - flood::LIMIT
    );
    assert!(summary.ends_with(&expected), "{summary}");
}

/// Waits for a summary, which the log writes by itself, and returns all lines.
fn summarised(folder: &tempfile::TempDir, log: &ErrorLog) -> Vec<String> {
    let begun = Instant::now();
    loop {
        assert!(log.write_out(Duration::from_secs(20)));
        let text = std::fs::read_to_string(folder.path().join("error.log")).expect("read");
        if text.contains("more times") {
            return text.lines().map(str::to_string).collect();
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "no summary");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_flush_writes_the_counts_of_repeated_messages() {
    let (folder, log) = open(LogLevel::Info);
    for _ in 0..flood::LIMIT + 5 {
        log.warn("again");
    }
    let lines = written(&folder, &log);
    let last = lines.last().expect("has lines");
    assert!(
        last.ends_with("the same warn came 5 more times: again"),
        "{last}"
    );
}

#[test]
fn log_at_most_every_writes_a_warning_once_within_the_pause() {
    let (folder, log) = open(LogLevel::Info);
    let hour = Duration::from_secs(3600);
    assert!(log.log_at_most_every(hour, "clients", LogLevel::Warn, "MaxClients reached"));
    assert!(!log.log_at_most_every(hour, "clients", LogLevel::Warn, "MaxClients reached"));
    assert!(log.log_at_most_every(hour, "queue", LogLevel::Warn, "queue full"));
    assert!(log.log_at_most_every(Duration::ZERO, "clients", LogLevel::Warn, "again"));
    assert!(!log.log_at_most_every(hour, "debug", LogLevel::Debug, "not taken"));
    assert_eq!(written(&folder, &log).len(), 3);
}

#[test]
fn an_overlong_message_is_cut() {
    let (folder, log) = open(LogLevel::Info);
    log.warn("x".repeat(100_000));
    let lines = written(&folder, &log);
    assert_eq!(lines[0].matches('x').count(), LONGEST);
}

#[test]
fn program_output_becomes_whole_lines_however_it_is_split() {
    let (folder, log) = open(LogLevel::Info);
    let origin = Origin {
        pid: Some(77),
        request: Some(5),
        worker: None,
        ..Origin::default()
    };
    let mut lines = Lines::new(log.clone(), LogLevel::Error, origin);
    lines.feed(b"one\ntw");
    lines.feed(b"o\r\n\n");
    lines.feed(&vec![b'y'; 3 * LONGEST]);
    lines.feed(b"still the long line\nlast");
    lines.finish();
    let written = written(&folder, &log);
    let texts: Vec<&str> = written.iter().map(|line| after_time(line)).collect();
    assert_eq!(texts[0], "[error] [pid 77] [req 5] one");
    assert_eq!(texts[1], "[error] [pid 77] [req 5] two");
    assert_eq!(texts[2].matches('y').count(), LONGEST);
    assert_eq!(texts[3], "[error] [pid 77] [req 5] last");
    assert_eq!(texts.len(), 4);
}

#[test]
fn many_threads_write_whole_lines() {
    let (folder, log) = open(LogLevel::Info);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = log.clone();
            scope.spawn(move || {
                for number in 0..500 {
                    log.info(format_args!("thread {thread} number {number} end"));
                }
            });
        }
    });
    let lines = written(&folder, &log);
    assert_eq!(lines.len(), 2000);
    for line in lines {
        assert!(line.starts_with('[') && line.ends_with(" end"), "{line}");
        assert_eq!(line.matches("thread").count(), 1, "{line}");
    }
}

#[test]
fn reopening_moves_to_the_new_file() {
    let (folder, log) = open(LogLevel::Info);
    log.info("before");
    assert!(log.flush(Duration::from_secs(20)));
    let old = folder.path().join("error.log.1");
    std::fs::rename(folder.path().join("error.log"), &old).expect("renamed");
    log.reopen(None);
    log.info("after");
    let lines = written(&folder, &log);
    assert!(lines.len() == 1 && lines[0].ends_with("after"));
    let old = std::fs::read_to_string(old).expect("read");
    assert!(old.ends_with("before\n"));
}
