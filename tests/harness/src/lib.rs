//! What the whole-program tests stand on: a real server, a strict client, and the checks after each test.
//!
//! [`Server`] starts `mehari serve` on a free port in a folder of its own and, when it is dropped,
//! stops it and fails the test if anything was left behind. [`Connection`] and [`Request`] speak
//! HTTP/1.1 over a plain socket and accept nothing the RFC does not. [`fresh`] runs a script in a
//! process of its own, as the answer the other rungs are compared with. [`crowd`] makes load.
//! With `MEHARI_TESTS_AGAINST=apache2` the same configuration is given to Apache and mod_perl
//! instead: that is how an expectation is checked against the original.

pub mod answer;
pub mod apache;
pub mod back_end;
pub mod binary;
pub mod client;
pub mod cookies;
pub mod crowd;
pub mod database;
pub mod fresh;
mod head;
pub mod hosts;
mod httpd;
mod judge;
pub mod log;
pub mod mask;
pub mod needs;
pub mod pair;
pub mod processes;
pub mod redis;
pub mod request;
pub mod rungs;
pub mod scripts;
pub mod server;
mod session;
pub mod site;
pub mod trace;

pub use answer::Answer;
pub use back_end::BackEnd;
pub use client::Connection;
pub use database::{Database, Engine};
pub use pair::Pair;
pub use redis::Redis;
pub use request::Request;
pub use rungs::Rung;
pub use server::{Builder, Server};

use std::time::{Duration, Instant};

/// Longest any single wait of a test may last before it is called a hang.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// True when the tests run against Apache and mod_perl instead of Mehari.
pub fn against_apache() -> bool {
    std::env::var_os("MEHARI_TESTS_AGAINST").is_some_and(|name| name == "apache2")
}

/// Polls `is_so` until it is true; false when `patience` is over first.
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
