//! Measures the cost of `AccessLog::record` for its caller: `cargo run --release -p mehari-observe
//! --example record_cost [FILE]`.
//!
//! The program records in bursts of 64 lines. The writer works between the bursts, as in the front.
//! It prints the mean and the median burst for both formats.

use mehari_config::LogFormat;
use mehari_observe::{
    AccessEntry, AccessFormat, AccessLog, AccessLogSettings, ErrorLog, LogLevel, LogTarget, More,
};
use std::time::{Duration, Instant, SystemTime};

const BURST: u32 = 64;
const BURSTS: usize = 10_000;
const COMBINED_IO: &str = "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" %D %k";

fn main() -> std::io::Result<()> {
    let file = std::env::args_os()
        .nth(1)
        .unwrap_or_else(|| "/dev/null".into());
    let errors = ErrorLog::open(&LogTarget::Stderr, LogLevel::Info)?;
    let own = LogFormat::parse(COMBINED_IO).map_err(std::io::Error::other)?;
    let formats = [
        AccessFormat::Combined,
        AccessFormat::Json,
        AccessFormat::Custom(own),
    ];
    for format in formats {
        let settings = AccessLogSettings {
            format: format.clone(),
            ..AccessLogSettings::combined(LogTarget::File(file.clone().into()))
        };
        let log = AccessLog::open(&settings, &errors)?;
        let mut costs: Vec<f64> = (0..BURSTS).map(|turn| burst(&log, turn as u64)).collect();
        log.flush(Duration::from_secs(10));
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        costs.sort_by(f64::total_cmp);
        println!(
            "{format:?}: mean {mean:.0} ns, median {:.0} ns, 99th percentile {:.0} ns an entry",
            costs[costs.len() / 2],
            costs[costs.len() * 99 / 100],
        );
    }
    Ok(())
}

const FIELDS: &[(&[u8], &[u8])] = &[
    (b"Host", b"www.example.test"),
    (
        b"User-Agent",
        b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
    ),
    (b"Referer", b"https://www.example.test/guestbook.pl?page=11"),
];

/// Returns the nanoseconds per entry. The pause before the burst gives the writer as much time as
/// the front needs for the requests themselves.
fn burst(log: &AccessLog, turn: u64) -> f64 {
    std::thread::sleep(Duration::from_micros(50));
    let time = SystemTime::now();
    let begun = Instant::now();
    for number in 0..BURST {
        log.record(&AccessEntry {
            remote: b"192.168.100.200",
            name: None,
            user: None,
            time,
            method: b"GET",
            target: b"/cgi-bin/guestbook.pl?page=12&sort=date",
            protocol: b"HTTP/1.1",
            status: 200,
            bytes: 14_523,
            referer: Some(b"https://www.example.test/guestbook.pl?page=11"),
            user_agent: Some(
                b"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            ),
            request_id: turn * u64::from(BURST) + u64::from(number),
            worker: Some(12_345),
            queue_us: 17,
            total_us: 1_234,
            more: More {
                fields: FIELDS,
                ..More::default()
            },
        });
    }
    begun.elapsed().as_nanos() as f64 / f64::from(BURST)
}
