//! Writes http_load's report. Numbers are printed like C's `%g`, and lines with a zero count are
//! left out.

use super::options::Options;
use super::tally::{Measured, Spread};
use crate::number::general;

pub fn text(options: &Options, measured: &Measured) -> String {
    let mut page = format!(
        "{} fetches, {} max parallel, {} bytes, in {} seconds\n",
        measured.fetches,
        measured.most_parallel,
        general(measured.bytes as f64),
        general(measured.elapsed)
    );
    if measured.fetches > 0 {
        let mean = measured.bytes as f64 / measured.fetches as f64;
        page.push_str(&format!("{} mean bytes/connection\n", general(mean)));
    }
    if measured.elapsed > 0.01 {
        page.push_str(&format!(
            "{} fetches/sec, {} bytes/sec\n",
            general(measured.fetches as f64 / measured.elapsed),
            general(measured.bytes as f64 / measured.elapsed)
        ));
    }
    spread(&mut page, "connect", &measured.connects);
    spread(&mut page, "first-response", &measured.responses);
    if measured.timeouts > 0 {
        page.push_str(&format!("{} timeouts\n", measured.timeouts));
    }
    let (wrong, what) = if options.checksum {
        (measured.bad_checksums, "checksums")
    } else {
        (measured.bad_byte_counts, "byte counts")
    };
    if wrong > 0 {
        page.push_str(&format!("{wrong} bad {what}\n"));
    }
    page.push_str("HTTP response codes:\n");
    for (code, count) in &measured.codes {
        page.push_str(&format!("  code {code:03} -- {count}\n"));
    }
    page
}

fn spread(page: &mut String, what: &str, spread: &Spread) {
    if spread.count > 0 {
        page.push_str(&format!(
            "msecs/{what}: {} mean, {} max, {} min\n",
            general(spread.total / spread.count as f64),
            general(spread.max),
            general(spread.min)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_load::options::Options;
    use std::ffi::OsString;

    #[test]
    fn the_report_equals_http_loads() {
        let words = ["-p", "8", "-s", "300", "u"].map(OsString::from);
        let options = Options::parse(&words).expect("the words are right");
        let half = Spread {
            count: 2,
            total: 3.0,
            max: 2.0,
            min: 1.0,
        };
        let measured = Measured {
            fetches: 591,
            most_parallel: 8,
            bytes: 5_336_060,
            elapsed: 300.0,
            connects: half,
            responses: half,
            timeouts: 3,
            bad_byte_counts: 1,
            codes: [(200, 590), (404, 1)].into(),
            ..Measured::default()
        };
        assert_eq!(
            text(&options, &measured),
            "591 fetches, 8 max parallel, 5.33606e+06 bytes, in 300 seconds\n\
             9028.87 mean bytes/connection\n\
             1.97 fetches/sec, 17786.9 bytes/sec\n\
             msecs/connect: 1.5 mean, 2 max, 1 min\n\
             msecs/first-response: 1.5 mean, 2 max, 1 min\n\
             3 timeouts\n\
             1 bad byte counts\n\
             HTTP response codes:\n  code 200 -- 590\n  code 404 -- 1\n"
        );
    }
}
