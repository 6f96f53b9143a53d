//! The figures above the workers: rates between two looks, percentiles, memory, the machine.

use serde_json::Value;
use std::collections::HashMap;
use std::time::Instant;

/// What one look says, with what the next look needs for rates.
pub struct Figures {
    at: Instant,
    requests: u64,
    bytes: u64,
    server_errors: u64,
    latency: Vec<Bucket>,
    queue_wait: Vec<Bucket>,
    ticks: Ticks,
    lines: Vec<String>,
}

/// The durations up to `most` microseconds that were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bucket {
    most: u64,
    count: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Ticks {
    all: u64,
    idle: u64,
}

impl Figures {
    /// Reads a status. `before`: the last look, for rates.
    pub fn of(status: &Value, before: Option<&Figures>) -> Figures {
        let watched = &status["watched"];
        let mut figures = Figures {
            at: Instant::now(),
            requests: whole(&watched["requests"]),
            bytes: whole(&watched["bytes"]),
            server_errors: whole(&watched["classes"][4]),
            latency: buckets(&watched["latency_us"]),
            queue_wait: buckets(&watched["queue_wait_us"]),
            ticks: Ticks::of(&status["machine"]["cpu"]),
            lines: Vec::new(),
        };
        // The server begins to count anew when nobody has looked for a while.
        let before = before.filter(|before| before.requests <= figures.requests);
        figures.lines = vec![
            server(status),
            figures.traffic(before),
            figures.durations(before),
            figures.machine(&status["machine"], before),
        ];
        figures
    }

    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    fn traffic(&self, before: Option<&Figures>) -> String {
        let Some(before) = before else {
            return "requests: two looks are needed".to_owned();
        };
        let seconds = (self.at - before.at).as_secs_f64().max(0.001);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        format!(
            "requests: {:.1}/s, errors {:.1}/s, sent {}/s",
            rate(self.requests, before.requests),
            rate(self.server_errors, before.server_errors),
            size(rate(self.bytes, before.bytes) as u64),
        )
    }

    fn durations(&self, before: Option<&Figures>) -> String {
        let since = |now: &[Bucket], before: Option<&[Bucket]>| difference(now, before);
        let latency = since(&self.latency, before.map(|it| &*it.latency));
        let wait = since(&self.queue_wait, before.map(|it| &*it.queue_wait));
        let told = |buckets: &[Bucket], share| quantile(buckets, share).map_or("-".into(), time);
        format!(
            "durations: p50 {}, p90 {}, p99 {}; wait for a worker: p50 {}, p99 {}",
            told(&latency, 0.5),
            told(&latency, 0.9),
            told(&latency, 0.99),
            told(&wait, 0.5),
            told(&wait, 0.99),
        )
    }

    fn machine(&self, machine: &Value, before: Option<&Figures>) -> String {
        let busy = before.and_then(|before| self.ticks.busy_since(before.ticks));
        let memory = &machine["memory"];
        format!(
            "machine: processors {} of {} busy, {} of {} tasks runnable, load {}, memory {} of {} free",
            busy.map_or("-".into(), |share| format!("{share:.0} %")),
            machine["cores"],
            machine["runnable"],
            machine["tasks"],
            machine["load"][0],
            size(whole(&memory["available"])),
            size(whole(&memory["total"])),
        )
    }
}

impl Ticks {
    fn of(cpu: &Value) -> Ticks {
        let values = cpu.as_object().into_iter().flat_map(|all| all.values());
        Ticks {
            all: values.map(whole).sum(),
            idle: whole(&cpu["idle"]) + whole(&cpu["wait"]),
        }
    }

    fn busy_since(self, before: Ticks) -> Option<f64> {
        let all = self.all.saturating_sub(before.all);
        let idle = self.idle.saturating_sub(before.idle);
        (all > 0).then(|| 100.0 * (1.0 - idle as f64 / all as f64))
    }
}

fn server(status: &Value) -> String {
    let (pool, front) = (&status["pool"], &status["front"]);
    format!(
        "mehari {}, generation {}: {} workers busy, {} idle, at most {}; {} in the queue; {} connections",
        status["pid"],
        pool["generation"],
        pool["busy"],
        pool["idle"],
        pool["limit"],
        pool["queue"],
        front["open_connections"],
    )
}

pub fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn buckets(value: &Value) -> Vec<Bucket> {
    let all = value.as_array().into_iter().flatten();
    all.map(|pair| Bucket {
        most: whole(&pair[0]),
        count: whole(&pair[1]),
    })
    .collect()
}

/// Returns the durations that came between two looks, or all.
fn difference(now: &[Bucket], before: Option<&[Bucket]>) -> Vec<Bucket> {
    let before = before.unwrap_or_default();
    let old: HashMap<u64, u64> = before.iter().map(|it| (it.most, it.count)).collect();
    let more = now.iter().map(|bucket| Bucket {
        most: bucket.most,
        count: bucket
            .count
            .saturating_sub(old.get(&bucket.most).copied().unwrap_or_default()),
    });
    more.filter(|bucket| bucket.count > 0).collect()
}

/// Returns the microseconds that a share of the durations do not exceed.
fn quantile(buckets: &[Bucket], share: f64) -> Option<u64> {
    let total: u64 = buckets.iter().map(|it| it.count).sum();
    let rank = (total as f64 * share).ceil() as u64;
    let mut below = 0;
    let reaches = |bucket: &&Bucket| {
        below += bucket.count;
        below >= rank.max(1)
    };
    buckets.iter().find(reaches).map(|bucket| bucket.most)
}

/// Writes microseconds.
pub fn time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} us"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        1_000_000..60_000_000 => format!("{:.1} s", us as f64 / 1e6),
        _ => format!("{} min", us / 60_000_000),
    }
}

/// Writes bytes.
pub fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            let digits = usize::from(unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_and_percentiles_are_of_the_time_between_two_looks() {
        let status = |requests: u64, latency: Value| {
            json!({ "pid": 1, "watched": { "requests": requests, "bytes": 0,
                "classes": [0, 0, 0, 0, 0], "latency_us": latency, "queue_wait_us": [] } })
        };
        let first = Figures::of(&status(10, json!([[100, 10]])), None);
        let second = status(13, json!([[100, 10], [2000, 2], [5_000_000, 1]]));
        let second = Figures::of(&second, Some(&first));
        assert!(second.lines()[2].contains("p50 2.0 ms, p90 5.0 s, p99 5.0 s"));
        // After a restart of the counting there is nothing to compare with.
        let third = Figures::of(&status(1, json!([[7, 1]])), Some(&second));
        assert!(
            third.lines()[1].contains("two looks"),
            "{:?}",
            third.lines()
        );
        assert!(third.lines()[2].contains("p50 7 us"));
    }

    #[test]
    fn sizes_and_times_have_their_units() {
        assert_eq!((size(0), size(1536)), ("0 B".into(), "1.5 KiB".into()));
        assert_eq!(size(u64::MAX), "16777216.0 TiB");
        assert_eq!(
            (time(999), time(61_000_000)),
            ("999 us".into(), "1 min".into())
        );
    }
}
