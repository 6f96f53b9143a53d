//! The checks, one file for each subject. A check measures, and advises only what it has measured.

mod caching;
mod compression;
mod control_group;
mod debugging;
mod growth;
mod htaccess;
mod kernel_limits;
mod logs;
mod memory_limits;
mod modules;
mod name_lookups;
mod perl_build;
mod rungs;
mod slow_pages;
mod statements;
mod workers;

use super::advice::{Finding, Verdict};
use super::examination::Examination;

struct Check {
    name: &'static str,
    run: fn(&Examination) -> Verdict,
}

/// In the order of the report.
const CHECKS: &[Check] = &[
    Check {
        name: "slow pages",
        run: slow_pages::check,
    },
    Check {
        name: "statements",
        run: statements::check,
    },
    Check {
        name: "growing workers",
        run: growth::check,
    },
    Check {
        name: "modules",
        run: modules::check,
    },
    Check {
        name: "rungs",
        run: rungs::check,
    },
    Check {
        name: "workers",
        run: workers::check,
    },
    Check {
        name: "memory limits",
        run: memory_limits::check,
    },
    Check {
        name: "compression",
        run: compression::check,
    },
    Check {
        name: "caching",
        run: caching::check,
    },
    Check {
        name: "name lookups",
        run: name_lookups::check,
    },
    Check {
        name: "logs",
        run: logs::check,
    },
    Check {
        name: ".htaccess",
        run: htaccess::check,
    },
    Check {
        name: "debugging",
        run: debugging::check,
    },
    Check {
        name: "perl's build",
        run: perl_build::check,
    },
    Check {
        name: "kernel limits",
        run: kernel_limits::check,
    },
    Check {
        name: "control group",
        run: control_group::check,
    },
];

pub fn all(examination: &Examination) -> Vec<Finding> {
    let checks = CHECKS.iter();
    checks
        .map(|check| Finding {
            check: check.name,
            verdict: (check.run)(examination),
        })
        .collect()
}

/// Returns the advice, or that nothing needs to change.
fn advice_or(advice: Vec<super::advice::Advice>, fine: String) -> Verdict {
    if advice.is_empty() {
        Verdict::Fine(fine)
    } else {
        Verdict::Advice(advice)
    }
}
