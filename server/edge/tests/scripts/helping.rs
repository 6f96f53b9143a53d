//! Runs long scripts on the interpreter of another thread, which has no counters.

use crate::bench::{body, Bench, LIMITS};
use mehari_edge::{Edge, Run, ScriptDecision, Step};

const LONG: &str = "for i = 1, 60000 do end lighty.content = { lighty.env['uri.path'] } return 200";

impl Bench {
    fn start(&self, edge: &Edge) -> Run {
        let file = self.file("script.lua");
        let run = edge.start(&file, self.now, LIMITS, Bench::visit());
        run.expect("started")
    }

    fn write(&mut self, source: &str) {
        std::fs::write(self.file("script.lua"), source).expect("written");
        self.now += std::time::Duration::from_secs(2);
    }
}

fn finish(run: &mut Run) -> Step {
    loop {
        let step = run.step(None);
        if !matches!(step, Step::Again) {
            return step;
        }
    }
}

#[test]
fn a_script_is_for_helpers_after_a_long_run_until_a_run_is_short() {
    let mut bench = Bench::new();
    bench.write(LONG);
    let mut first = bench.start(&bench.edge);
    assert!(!first.is_for_helpers(), "nothing is known yet");
    finish(&mut first);
    assert!(first.was_long());
    let second = bench.start(&bench.edge);
    assert!(second.is_for_helpers());
    second.ended_elsewhere(false);
    assert!(!bench.start(&bench.edge).is_for_helpers(), "it was short");
}

#[test]
fn a_helper_gives_the_same_answer() {
    let mut bench = Bench::new();
    let helper = Bench::helper();
    bench.write(LONG);
    for edge in [&bench.edge, &helper] {
        for _ in 0..2 {
            let mut run = bench.start(edge);
            let step = finish(&mut run);
            assert!(
                matches!(step, Step::Done(Ok(ScriptDecision::Answer(200)))),
                "{step:?}"
            );
            assert!(!run.missed_counters());
            assert_eq!(body(&run.into_visit()), "/a b");
        }
    }
}

#[test]
fn a_script_that_asks_for_counters_stays_at_home_even_if_it_catches_the_error() {
    let mut bench = Bench::new();
    let helper = Bench::helper();
    for asks in [
        "lighty.status['hits'] = (lighty.status['hits'] or 0) + 1",
        "local name = 'sta' .. 'tus' pcall(function() return lighty[name].hits end)",
        "pcall(function() for name in pairs(lighty.status) do end end)",
    ] {
        bench.write(&format!("{asks} {LONG}"));
        let mut elsewhere = bench.start(&helper);
        finish(&mut elsewhere);
        assert!(elsewhere.missed_counters(), "{asks}");
        let mut home = bench.start(&bench.edge);
        home.stay();
        finish(&mut home);
        assert!(!home.missed_counters(), "{asks}");
        assert!(!bench.start(&bench.edge).is_for_helpers(), "{asks}");
    }
    // The next script has missed nothing.
    bench.write(LONG);
    let mut run = bench.start(&helper);
    finish(&mut run);
    assert!(!run.missed_counters());
}
