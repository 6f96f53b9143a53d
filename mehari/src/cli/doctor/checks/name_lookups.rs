//! Measures the lookups of clients' names that `HostnameLookups` has the server do.

use super::super::measuring::PerlRun;
use crate::cli::doctor::advice::{figure, Advice, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::gain;
use std::collections::BTreeSet;

const PROGRAM: &str = include_str!("../names.pl");
/// The most addresses that are looked up.
const MOST: usize = 8;

pub fn check(examination: &Examination) -> Verdict {
    let lines = examination.configuration.all("HostnameLookups");
    let is_on = |text: &str| {
        let value = text.split_whitespace().nth(1).unwrap_or_default();
        !value.eq_ignore_ascii_case("off")
    };
    let Some(line) = lines.into_iter().rev().find(|line| is_on(&line.text)) else {
        return Verdict::Fine(
            "the server looks up no client's name (HostnameLookups Off)".to_owned(),
        );
    };
    let addresses = clients(examination);
    let perl = PerlRun {
        perl: examination.configuration.perl().to_owned(),
        switches: Vec::new(),
        options: String::new(),
    };
    let words: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let Some(output) = perl.output(PROGRAM, &words) else {
        return Verdict::Unmeasured("perl's module Socket cannot look up a name".to_owned());
    };
    let mut times: Vec<(f64, &str)> = output
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(address, ms)| Some((ms.parse().ok()?, address)))
        .collect();
    times.sort_by(|one, other| other.0.total_cmp(&one.0));
    let Some((longest, address)) = times.first() else {
        return Verdict::Unmeasured("no client's address can be looked up".to_owned());
    };
    let mean = times.iter().map(|(ms, _)| ms).sum::<f64>() / times.len() as f64;
    let new = "HostnameLookups Off";
    Verdict::Advice(vec![Advice {
        what: format!("`{}` has the server look up the name of each new client", line.text),
        measured: format!(
            "{mean:.3} ms for a lookup from this machine, the longest {longest:.3} ms ({address}), the best of 3 for each of {} addresses",
            times.len()
        ),
        figures: vec![
            figure("lookup", mean, "ms a new client"),
            figure("longest lookup", *longest, "ms"),
        ],
        change: super::super::advice::ProposedChange::replace(&line.file, line.number, &line.text, new),
        gain: gain::of_lines(examination, &[new], &examination.example()),
    }])
}

/// Returns the addresses of the clients that are connected, or this machine's own.
fn clients(examination: &Examination) -> Vec<String> {
    let mut found = BTreeSet::new();
    if let Some(server) = &examination.server {
        let table = mehari_console::inspection::descriptors(server.pid).unwrap_or_default();
        for row in table["rows"].as_array().into_iter().flatten() {
            let told = row[2].as_str().unwrap_or_default();
            let peer = told
                .strip_prefix("TCP ")
                .and_then(|rest| rest.split_once(" to "));
            if let Some(Ok(address)) = peer.map(|(_, far)| far.parse::<std::net::SocketAddr>()) {
                found.insert(address.ip().to_canonical().to_string());
            }
        }
    }
    if found.is_empty() {
        found.insert("127.0.0.1".to_owned());
    }
    found.into_iter().take(MOST).collect()
}
