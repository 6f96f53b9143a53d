//! Keeps the workers' reports about scripts on the rung `rewind`, for `mehari status`.

use crate::payload::Broken;
use std::collections::BTreeMap;

/// The largest number of reports that are kept. Reports about further scripts are dropped.
const MOST: usize = 512;

/// The report of one worker about a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct RewoundScript {
    pub script: String,
    pub worker: u32,
    /// The rung that really runs: `rewind`, or `fork` if the script cannot be rewound.
    pub rung: String,
    /// The size of the script's own picture, in pages of 4 KiB.
    pub pages: u64,
    /// How many pages the script's process maps from the base picture, which exists once.
    pub shared_pages: u64,
    pub hot_pages: u64,
    pub rewinds: u64,
    /// How many rewinds had to search for written pages.
    pub looks: u64,
    /// How many processes were replaced because they could not be rewound.
    pub replaced: u64,
    /// The state of the kernel that is checked after every rewind, because a library may change it
    /// unnoticed. Empty: none.
    pub checks: String,
    /// The library that demands most of these checks. Empty: none.
    pub dearest_library: String,
    /// The library that a request has loaded, so that everything is checked after such requests.
    /// Empty: none.
    pub loaded_library: String,
    /// Why the last process could not be rewound, or why the rung is `fork`.
    pub why: String,
}

#[derive(Debug, Default)]
pub struct Rewound(BTreeMap<(String, u32), RewoundScript>);

impl Rewound {
    /// Reads a worker's `RUNG` record. Control characters are removed, because terminals show the
    /// text.
    pub fn record_report(&mut self, worker: u32, payload: &[u8]) -> Result<(), Broken> {
        let script = read(worker, payload).ok_or(Broken("an invalid rung"))?;
        let key = (script.script.clone(), worker);
        if self.0.len() < MOST || self.0.contains_key(&key) {
            self.0.insert(key, script);
        }
        Ok(())
    }

    /// Drops the reports of a worker that has ended.
    pub fn forget(&mut self, worker: u32) {
        self.0.retain(|(_, of), _| *of != worker);
    }

    pub fn all(&self) -> Vec<RewoundScript> {
        self.0.values().cloned().collect()
    }
}

fn read(worker: u32, payload: &[u8]) -> Option<RewoundScript> {
    let mut parts = payload.rsplitn(12, |byte| *byte == b'\t');
    let mut next = || {
        let text = String::from_utf8_lossy(parts.next()?);
        Some(text.replace(char::is_control, "?"))
    };
    let why = next()?;
    let (loaded_library, dearest_library, checks) = (next()?, next()?, next()?);
    let mut number = || next()?.parse::<u64>().ok();
    let (replaced, looks, rewinds) = (number()?, number()?, number()?);
    let (hot_pages, pages, shared_pages) = (number()?, number()?, number()?);
    let rung = next()?;
    let script = next()?;
    Some(RewoundScript {
        script,
        worker,
        rung,
        pages,
        shared_pages,
        hot_pages,
        rewinds,
        looks,
        replaced,
        checks,
        dearest_library,
        loaded_library,
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_report_of_a_worker_is_kept_until_the_worker_ends() {
        let mut rewound = Rewound::default();
        let told =
            |text: &str, rewound: &mut Rewound| rewound.record_report(7, text.as_bytes()).is_ok();
        assert!(told(
            "/a\tb.pl\trewind\t2200\t300\t60\t1\t1\t0\tthreads\tlibx.so\tliby.so\t",
            &mut rewound
        ));
        let first = &rewound.all()[0];
        assert_eq!((first.hot_pages, first.replaced), (60, 0));
        assert_eq!((first.pages, first.shared_pages), (300, 2200));
        assert_eq!((&*first.checks, &*first.why), ("threads", ""));
        assert_eq!(
            (&*first.dearest_library, &*first.loaded_library),
            ("libx.so", "liby.so")
        );
        assert!(told(
            "/a\tb.pl\tfork\t0\t0\t0\t0\t0\t0\t\t\t\tit\u{1b} asks",
            &mut rewound
        ));
        assert!(!told(
            "/a.pl\trewind\tmany\t0\t0\t0\t0\t0\t\t\t\t",
            &mut rewound
        ));
        assert!(!told("", &mut rewound));
        let all = rewound.all();
        assert_eq!(all.len(), 1);
        assert_eq!((&*all[0].script, &*all[0].rung), ("/a?b.pl", "fork"));
        assert_eq!(all[0].why, "it? asks");
        rewound.forget(7);
        assert!(rewound.all().is_empty());
    }
}
