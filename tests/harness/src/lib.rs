//! Gives the tests of whole programs a real server, a strict client, and checks after each test.
//!
//! [`Server`] starts `mehari serve` on a free port in a folder of its own. When the [`Server`] is
//! dropped, the harness stops the process and fails the test if anything is left behind.
//! [`Connection`] and [`Request`] speak HTTP/1.1 over a plain socket and accept only what the RFC
//! allows. [`fresh`] runs a script in a new process, for comparison with the rungs. [`crowd`] makes
//! load. With `MEHARI_TESTS_AGAINST=apache2` Apache and mod_perl get the same configuration, which
//! checks the test's expectations against the original. `FRONT_THREADS=N` gives every server the
//! directive `FrontThreads N`.

pub mod answer;
pub mod apache;
pub mod back_end;
pub mod binary;
pub mod browser;
pub mod client;
pub mod cookies;
pub mod crowd;
pub mod database;
pub mod fresh;
mod head;
pub mod hosts;
mod httpd;
mod leftovers;
pub mod log;
pub mod mask;
pub mod needs;
pub mod pair;
mod prefix;
pub mod processes;
pub mod redis;
pub mod request;
pub mod rungs;
pub mod scripts;
pub mod server;
mod session;
pub mod site;
#[cfg(target_arch = "x86_64")]
pub mod stepping;
pub mod trace;

pub use answer::Answer;
pub use back_end::BackEnd;
pub use browser::{Browser, View};
pub use client::Connection;
pub use database::{Database, Engine};
pub use pair::Pair;
pub use redis::Redis;
pub use request::Request;
pub use rungs::Rung;
pub use server::{Builder, Server};

use std::time::{Duration, Instant};

/// The longest wait of a test. A longer wait counts as a hang.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// True when the tests run against Apache and mod_perl instead of Mehari.
pub fn against_apache() -> bool {
    std::env::var_os("MEHARI_TESTS_AGAINST").is_some_and(|name| name == "apache2")
}

/// True when the XS under test is built with a sanitizer (tests/sanitize).
pub fn is_sanitized() -> bool {
    std::env::var("MEHARI_PERL_FLAGS").is_ok_and(|flags| flags.contains("-fsanitize="))
}

/// Calls `is_so` again and again until it returns true. Returns false after `patience`.
pub fn eventually(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
