//! CGI scripts on each rung that gives a script a process's world (`tests/programs/rungs`). The
//! answers must be those of Apache's mod_cgi.

use mehari_harness::{Pair, Request};

pub const RUNGS: &[&str] = &["cgi", "fork", "auto"];

/// Sends each request to each rung of both servers; reports all differences together.
pub fn compare_on_every_rung(user: &mut Pair, requests: &[Request]) {
    let mut differing = Vec::new();
    for rung in RUNGS {
        for request in requests {
            let mut request = request.clone();
            request.target = format!("/{rung}{}", request.target);
            differing.extend(user.compare(&request).err());
        }
    }
    assert!(
        differing.is_empty(),
        "{}\n{}",
        differing.join("\n"),
        user.ends_of_logs()
    );
}
