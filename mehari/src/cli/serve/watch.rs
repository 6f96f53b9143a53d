//! `--watch`: starts a new generation when a configuration file, a loaded module, a template or a
//! settings file changes. A first load that fails is tried again after a change.

use super::reload::Reloader;
use super::{signals, sources, Options};
use mehari_config::Site;
use sources::Times;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(500);
/// How long no file may change before the files are loaded. An editor or a copy may write several
/// files, or one file in parts.
const QUIET: Duration = Duration::from_millis(100);
/// The most pauses of `QUIET` that a reload waits for.
const MOST_PAUSES: usize = 30;

pub async fn run(reloader: Rc<Reloader>) {
    let mut failed = false;
    let mut known = look_around(&reloader).await;
    loop {
        tokio::time::sleep(PAUSE).await;
        let now = look_around(&reloader).await;
        let loaded = reloader.watched_files();
        // After a failure the mended file may be one that was never loaded.
        let counts = |path: &Path| {
            failed || sources::is_setting_or_template(path) || loaded.iter().any(|it| it == path)
        };
        let Some(path) = changed(&known, &now, counts) else {
            known.extend(now);
            continue;
        };
        reloader.log_notice(format_args!("{} changed", path.display()));
        known = settled(now, || look_around(&reloader)).await;
        failed = reloader.reload("watch").await.is_err();
        // What has changed since `settled` is noticed in the next round.
        for (path, time) in look_around(&reloader).await {
            known.entry(path).or_insert(time);
        }
    }
}

async fn look_around(reloader: &Reloader) -> Times {
    let folders = reloader.source_folders();
    let loaded = reloader.watched_files();
    let files = move || sources::in_folders(&folders).into_iter().chain(loaded);
    tokio::task::spawn_blocking(move || sources::times(files()))
        .await
        .unwrap_or_default()
}

/// Returns the modification time of each file. Another thread reads the times, because disks may be
/// slow.
pub async fn look(files: Vec<PathBuf>) -> Times {
    tokio::task::spawn_blocking(|| sources::times(files))
        .await
        .unwrap_or_default()
}

fn changed(known: &Times, now: &Times, counts: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let differs = |path: &PathBuf| known.get(path).is_some_and(|before| *before != now[path]);
    let mut changed = now.keys().filter(|path| differs(path) && counts(path));
    changed.next().cloned()
}

/// Waits until no file has changed for a moment. Returns the last look at the files.
async fn settled<F: Future<Output = Times>>(mut now: Times, look: impl Fn() -> F) -> Times {
    for _ in 0..MOST_PAUSES {
        tokio::time::sleep(QUIET).await;
        let later = look().await;
        if later == std::mem::replace(&mut now, later.clone()) {
            break;
        }
    }
    now
}

/// The files of a server whose first load may fail.
pub struct FirstLoad {
    folders: Vec<PathBuf>,
    before: Times,
}

impl FirstLoad {
    /// Looks at the files before they are loaded. `site` is `None` before the configuration is
    /// read.
    pub fn of(options: &Options, site: Option<&Site>) -> FirstLoad {
        let folders = sources::folders(options, site);
        let before = sources::times(sources::in_folders(&folders));
        FirstLoad { folders, before }
    }

    /// Waits until a file differs from the look before the load, or is new. Returns false if a
    /// signal ends the wait.
    pub fn wait(&self) -> Result<bool, String> {
        let folders = self.folders.iter().map(|it| it.display().to_string());
        let folders = folders.collect::<Vec<_>>().join(", ");
        eprintln!(
            "mehari serve: the first load failed; waits for a change of Perl code, a template or \
             a configuration in {folders}"
        );
        let runtime = mehari_pool::runtime().map_err(|error| format!("no runtime: {error}"))?;
        runtime.block_on(async {
            let mut caught = signals::catch()?;
            Ok(tokio::select! {
                () = self.change() => true,
                _ = caught.end() => false,
            })
        })
    }

    async fn change(&self) {
        let look = || {
            let folders = self.folders.clone();
            let times = move || sources::times(sources::in_folders(&folders));
            async move { tokio::task::spawn_blocking(times).await.unwrap_or_default() }
        };
        loop {
            tokio::time::sleep(PAUSE).await;
            let now = look().await;
            if now != self.before {
                settled(now, look).await;
                return;
            }
        }
    }
}
