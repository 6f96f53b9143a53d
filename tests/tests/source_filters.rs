//! Tests scripts that install a source filter while they are compiled. On each rung the script must
//! answer like a new perl that runs it. tests/isolation.rs has the same scripts among others.

use mehari_harness::fresh;
use mehari_harness::scripts::workers;
use mehari_harness::{Request, Rung, Server};

const SCRIPTS: [&str; 3] = ["filter_lines.pl", "filter_whole.pl", "filter_code.pl"];

#[test]
fn source_filters_of_a_script_work_on_each_rung() {
    let server = Server::builder()
        .fixtures("dirty")
        .ladder()
        .conf(&workers(1))
        .start();
    for script in SCRIPTS {
        let request = |rung: Rung| Request::get(&format!("{}?n=7", rung.url(script)));
        let path = server.site.path(&format!("scripts/{script}"));
        let expected = fresh::run(&path, Rung::Rewind, &request(Rung::Rewind));
        // On the last rungs each request compiles the script again.
        for rung in Rung::ALL
            .into_iter()
            .chain(Rung::ISOLATED)
            .chain([Rung::Auto])
        {
            let answer = server.send(&request(rung));
            assert_eq!(
                Some(answer.essence()),
                expected.essence(),
                "{script} on {rung:?}"
            );
        }
    }
}
