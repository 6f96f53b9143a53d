//! Compares the limits of descriptors and of waiting connections with what the configuration needs.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, ChangeKind, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use std::path::PathBuf;

/// The descriptors of the front for each worker: its bell, its orders and its mailbox.
const FOR_WORKER: u64 = 4;

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let limits = &examination.configuration.site.limits;
    let [before, now] = &server.span.kernel;
    let Some(files) = now.open_files_limit else {
        return Verdict::Unmeasured("the kernel does not tell the server's limits".to_owned());
    };
    let open = server.status["front"]["open_connections"]
        .as_u64()
        .unwrap_or_default();
    let workers = server.status["pool"]["limit"].as_u64().unwrap_or_default();
    let besides = now.open_files.saturating_sub(open) + workers * FOR_WORKER;
    let needed = limits.connections as u64 + besides;
    let overflows = now.overflows.saturating_sub(before.overflows);
    let mut advice = Vec::new();
    if needed > files {
        let room = files.saturating_sub(besides).max(1);
        let line = format!("MaxConnections {room}");
        advice.push(Advice {
            what: "the server may open fewer files than its configuration needs".to_owned(),
            measured: format!(
                "{} connections (MaxConnections), {workers} workers and the files of now need {needed} descriptors; the limit is {files} \
                 (ulimit -n; LimitNOFILE= in a unit of systemd)",
                limits.connections
            ),
            figures: vec![
                figure("needed", needed as f64, "descriptors"),
                figure("limit", files as f64, "descriptors"),
            ],
            change: examination.configuration.set("MaxConnections", &line),
            gain: gain::of_lines_with(examination, &[&line], &examination.example(), "-c 256"),
        });
    }
    let backlog = u64::from(limits.backlog);
    if backlog > now.somaxconn && overflows > 0 {
        advice.push(Advice {
            what: "the kernel refuses connections that wait to be accepted".to_owned(),
            measured: format!(
                "{overflows} connections were refused in {:.1} s; ListenBacklog is {backlog}, and net.core.somaxconn allows {}",
                server.span.seconds, now.somaxconn
            ),
            figures: vec![figure("refused", overflows as f64, "connections")],
            change: ProposedChange {
                file: Some(PathBuf::from("/etc/sysctl.conf")),
                line: 1,
                kind: ChangeKind::Insert,
                old: String::new(),
                new: format!("net.core.somaxconn = {backlog}"),
            },
            gain: gain::of_records(examination, &examination.example()),
        });
    }
    advice_or(
        advice,
        format!(
            "{needed} of {files} descriptors are needed at most; {overflows} connections were refused by a full queue \
             (ListenBacklog {backlog}, net.core.somaxconn {})",
            now.somaxconn
        ),
    )
}
