//! Makes the same status page as Apache's mod_status, and the machine-readable form `?auto`.

use super::text;
use crate::content::Answer;
use crate::request::Request;
use crate::shared::Shared;
use mehari_pool::PoolStatus;
use mehari_text::html;
use std::fmt::Write;
use std::time::SystemTime;

pub fn answer(shared: &Shared, request: &Request<'_>) -> Answer {
    let query = request.query();
    let auto = query
        .split(|&byte| byte == b'&')
        .any(|word| word == b"auto");
    let figures = figures(shared, request);
    if auto {
        let mut page = String::from_utf8_lossy(request.host_name()).into_owned();
        page.push('\n');
        for (name, value) in figures {
            let _ = writeln!(page, "{name}: {value}");
        }
        text(200, "text/plain; charset=ISO-8859-1", page)
    } else {
        text(
            200,
            "text/html; charset=utf-8",
            html(&figures, shared.backends.pool.status()),
        )
    }
}

type Figures = Vec<(&'static str, String)>;

/// Returns the figures in Apache's order, with Apache's names.
fn figures(shared: &Shared, request: &Request<'_>) -> Figures {
    let now = SystemTime::now();
    let uptime = now
        .duration_since(shared.stats.started)
        .unwrap_or_default()
        .as_secs()
        .max(1);
    let counts = &shared.stats.counts;
    // As in Apache, the request for this page does not count, because it is not complete.
    let requests = counts.requests.get().saturating_sub(1);
    let bytes = counts.bytes.get();
    let per = |what: f64, of: u64| if of == 0 { 0.0 } else { what / of as f64 };
    let pool = shared.backends.pool.status();
    let (busy, idle) = pool.as_ref().map_or((0, 0), |pool| (pool.busy, pool.idle));
    let duration_ms = shared
        .stats
        .meters
        .borrow()
        .as_ref()
        .map_or(0, |meters| meters.total_us() / 1000);
    let version = concat!("Mehari/", env!("CARGO_PKG_VERSION"));
    let date = |time: SystemTime| httpdate::fmt_http_date(time);
    vec![
        ("ServerVersion", version.to_string()),
        ("ServerMPM", "mehari".to_string()),
        ("CurrentTime", date(now)),
        ("RestartTime", date(shared.stats.started)),
        (
            "ParentServerConfigGeneration",
            pool.as_ref().map_or(0, |pool| pool.generation).to_string(),
        ),
        ("ServerUptimeSeconds", uptime.to_string()),
        ("ServerUptime", format!("{uptime} seconds")),
        ("Total Accesses", requests.to_string()),
        ("Total kBytes", (bytes / 1024).to_string()),
        ("Total Duration", duration_ms.to_string()),
        ("Uptime", uptime.to_string()),
        ("ReqPerSec", format!("{:.6}", per(requests as f64, uptime))),
        ("BytesPerSec", format!("{:.3}", per(bytes as f64, uptime))),
        ("BytesPerReq", format!("{:.3}", per(bytes as f64, requests))),
        (
            "DurationPerReq",
            format!("{:.6}", per(duration_ms as f64, requests)),
        ),
        ("BusyWorkers", busy.to_string()),
        ("IdleWorkers", idle.to_string()),
        ("ConnsTotal", shared.connections.registry.open().to_string()),
        (
            "QueueLength",
            pool.as_ref().map_or(0, |pool| pool.queue).to_string(),
        ),
        (
            "Host",
            String::from_utf8_lossy(request.peer.server_addr.as_bytes()).into_owned(),
        ),
        (
            "Scoreboard",
            pool.as_ref().map_or(String::new(), scoreboard),
        ),
    ]
}

/// Returns Apache's letter for each worker: `_` waiting, `W` working, `S` starting, `G` finishing,
/// `.` absent.
fn scoreboard(pool: &PoolStatus) -> String {
    let mut board: String = pool
        .workers
        .iter()
        .map(|worker| match worker.state {
            "idle" => '_',
            "busy" => 'W',
            "starting" => 'S',
            _ => 'G',
        })
        .collect();
    let open = (pool.limit as usize).saturating_sub(pool.workers.len());
    board.push_str(&".".repeat(open));
    board
}

fn html(figures: &Figures, pool: Option<PoolStatus>) -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Server status</title>\n\
         <style>body{font:1rem/1.5 system-ui,sans-serif;margin:2rem;color-scheme:light dark}\
         td,th{padding:0 1rem 0 0;text-align:left}</style></head>\n<body><main><h1>Server status</h1>\n<table>\n",
    );
    for (name, value) in figures {
        let _ = writeln!(
            page,
            "<tr><th>{name}</th><td>{}</td></tr>",
            html::escape(value)
        );
    }
    page.push_str("</table>\n");
    let Some(pool) = pool else {
        return page + "</main></body></html>\n";
    };
    page.push_str("<h2>Workers</h2>\n<table><tr><th>Process</th><th>Pool</th><th>State</th><th>Held</th><th>Running ms</th><th>Served</th><th>Age s</th><th>Client</th><th>Request</th></tr>\n");
    for worker in &pool.workers {
        let (client, request) = match &worker.request {
            Some(request) => (
                request.client.as_str(),
                format!("{} {}", request.method, request.target),
            ),
            None => ("", String::new()),
        };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            worker.pid,
            html::escape(pool.host_of(worker)),
            worker.state, worker.held, worker.running_ms, worker.served, worker.age_s,
            html::escape(client), html::escape(&request)
        );
    }
    page + "</table></main></body></html>\n"
}
