//! Runs a Redis server for one test, with a socket in a temporary folder and without persistence.

use crate::{eventually, PATIENCE};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A Redis server that is stopped when the value is dropped.
pub struct Redis {
    folder: tempfile::TempDir,
    server: Child,
}

impl Redis {
    /// Starts a server and waits until it answers. Panics if there is no `redis-server`.
    pub fn start() -> Redis {
        let folder = tempfile::tempdir().expect("a folder");
        let server = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket"])
            .arg(folder.path().join(SOCKET))
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server can be run (packaging/needs/test)");
        let redis = Redis { folder, server };
        assert!(eventually(PATIENCE, || {
            UnixStream::connect(redis.socket()).is_ok()
        }));
        redis
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    /// Kills the server, as if its machine had failed.
    pub fn stop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}

const SOCKET: &str = "redis.sock";
