//! Shows the smallest use of the engine. `rate CONNECTIONS REQUESTS URL [THREADS]` prints the
//! requests per second of wall time and per second of processor time.

use mehari_load::{run, Control, Moment, Plan, Recorder, Request, Schedule, Stop};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let mut word = |what| words.next().ok_or(format!("{what} is missing"));
    let connections = word("the number of connections")?.parse()?;
    let requests = word("the number of requests")?.parse()?;
    let url = word("the URL")?;
    let mut plan = Plan::new(
        vec![Request::get(&url)?],
        Schedule::Closed { connections },
        Stop::after_requests(requests),
    );
    plan.threads = words.next().map(|threads| threads.parse()).transpose()?;
    let outcome = run(&plan, &Control::new(), |_| Recorder::new(Moment::NEVER))?;
    let totals = outcome.totals();
    println!(
        "{:.0} requests/s, {:.0} requests/CPU s; {totals:?}",
        totals.completed as f64 / outcome.elapsed.as_secs_f64(),
        totals.completed as f64 / outcome.cpu().as_secs_f64(),
    );
    Ok(())
}
