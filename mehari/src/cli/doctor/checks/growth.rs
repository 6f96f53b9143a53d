//! Names the variables of a worker that grow with its requests.

use super::advice_or;
use crate::cli::doctor::advice::{figure, Advice, ProposedChange, Verdict};
use crate::cli::doctor::examination::Examination;
use crate::cli::doctor::measuring::bytes;
use mehari_memory::Leak;

/// The fewest requests between the looks, and the least growth of each.
const LEAST_REQUESTS: u64 = 20;
const LEAST_BYTES: f64 = 64.0;
const MOST: usize = 3;

pub fn check(examination: &Examination) -> Verdict {
    let server = match examination.running() {
        Ok(server) => server,
        Err(why) => return Verdict::Unmeasured(why),
    };
    let growth = match &server.span.growth {
        Ok(growth) => growth,
        Err(why) => return Verdict::Unmeasured(why.clone()),
    };
    let requests = growth.requests.unwrap_or_default();
    if requests < LEAST_REQUESTS {
        return Verdict::Unmeasured(format!(
            "worker {} served {requests} requests between the looks, and {LEAST_REQUESTS} are needed",
            growth.pid
        ));
    }
    let each = |leak: &Leak| leak.bytes as f64 / requests as f64;
    // A container that grows with only some requests may be a cache. A variable that no known line
    // of code changes gets no advice, because the advice names the line.
    let leaks = growth.leaks.iter().filter_map(|leak| {
        let site = leak.sites.first()?;
        let grows = leak.elements.unsigned_abs() * 2 >= requests;
        (each(leak) >= LEAST_BYTES && grows).then_some((leak, site))
    });
    let advice = leaks.take(MOST).map(|(leak, site)| Advice {
        what: format!("a worker grows with each request: {}", leak.name),
        measured: format!(
            "{} a request: {} in {requests} requests of worker {}; at this rate {} after 10000",
            bytes(each(leak)),
            bytes(leak.bytes as f64),
            growth.pid,
            bytes(each(leak) * 10_000.0)
        ),
        figures: vec![figure("growth", each(leak), "bytes a request")],
        change: ProposedChange::code(&site.file, site.line, "keep less, or forget the oldest"),
        gain: format!(
            "mehari memory --leaks --worker {} after the change and a reload: the variable is gone from the table",
            growth.pid
        ),
    });
    advice_or(
        advice.collect(),
        format!(
            "no variable of worker {} grew by {LEAST_BYTES} bytes with each of {requests} requests",
            growth.pid
        ),
    )
}
