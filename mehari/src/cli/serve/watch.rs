//! `--watch`: starts a new generation when a configuration file or a loaded module changes.

use super::reload::Reloader;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

pub const PAUSE: Duration = Duration::from_millis(500);

pub type Times = HashMap<PathBuf, Option<SystemTime>>;

pub async fn run(reloader: Rc<Reloader>) {
    let mut known = look(reloader.watched_files()).await;
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = look(reloader.watched_files()).await;
        let changed = now
            .iter()
            .find(|(path, time)| known.get(*path).is_some_and(|before| before != *time))
            .map(|(path, _)| path.clone());
        if let Some(path) = changed {
            reloader.log_notice(format_args!("{} changed", path.display()));
            let _ = reloader.reload("watch").await;
            known = look(reloader.watched_files()).await;
        } else {
            known.extend(now);
        }
    }
}

/// Returns the modification time of each file. Another thread reads the times, because disks may be
/// slow.
pub async fn look(files: Vec<PathBuf>) -> Times {
    tokio::task::spawn_blocking(move || {
        files
            .into_iter()
            .map(|path| {
                let time = std::fs::metadata(&path)
                    .and_then(|meta| meta.modified())
                    .ok();
                (path, time)
            })
            .collect()
    })
    .await
    .unwrap_or_default()
}
