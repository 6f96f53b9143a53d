//! Answers `exact` on the control socket (`mehari profile --exact`): starts a pool whose Perl is
//! profiled by Devel::NYTProf, gives the chosen requests to it, and sends each finished profile to
//! the asker. Everything ends with the asker's line `end`, or when the asker leaves.

use super::reload::Reloader;
use crate::cli::control::Reply;
use mehari_front::{ExactChoice, Profiling};
use mehari_loopback::Token;
use mehari_pool::Pool;
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// How long the requests under way may take after the last one was chosen.
const PATIENCE: Duration = Duration::from_secs(120);
/// The interval at which finished profiles are looked for.
const GLANCE: Duration = Duration::from_millis(50);

/// An exact profile under way. Dropping it ends its processes and removes its folder.
pub struct ExactRun {
    pub pool: Pool,
    pub profiling: Profiling,
    /// The folder in which the processes write. Only the server's user can enter it.
    pub folder: TempDir,
}

impl Drop for ExactRun {
    fn drop(&mut self) {
        self.pool.end_at_once();
    }
}

/// Obeys `secret`, or `one-in N PATH`.
pub async fn answer(mut stream: UnixStream, order: &str, reloader: &Reloader) -> io::Result<()> {
    let secret = Token::random().map_err(io::Error::other)?;
    let text = secret.text().to_owned();
    let run = match choice(order, secret) {
        Some(choice) => reloader.profile_exactly(choice).await,
        None => Err("expected exact secret, or exact one-in N PATH".to_owned()),
    };
    let run = match run {
        Ok(run) => run,
        Err(reason) => {
            let reply = Reply::failed(reason).to_json();
            return stream.write_all(reply.as_bytes()).await;
        }
    };
    reloader.log_notice(format_args!(
        "exact profile: chosen requests go to a process with Devel::NYTProf"
    ));
    let begun = Reply::done("profiling".to_owned())
        .with("secret", &text)
        .with("perl", &reloader.interpreter())
        .to_json();
    let told = tell(stream, &begun, &run).await;
    // An asker that left has not stopped the choice. Chosen requests are answered in any case.
    run.profiling.stop();
    run.pool.drained(PATIENCE).await;
    reloader.log_notice(format_args!(
        "exact profile: ended after {} requests",
        run.profiling.counts().taken
    ));
    run.pool.end().await;
    told
}

fn choice(order: &str, secret: Token) -> Option<ExactChoice> {
    if order == "secret" {
        return Some(ExactChoice::Secret(Box::new(move |given| secret.is(given))));
    }
    let (every, location) = order.strip_prefix("one-in ")?.split_once(' ')?;
    let every = every.parse().ok().filter(|every| *every > 0)?;
    location.starts_with('/').then(|| ExactChoice::OneIn {
        location: location.to_owned(),
        every,
    })
}

async fn tell(stream: UnixStream, begun: &str, run: &ExactRun) -> io::Result<()> {
    let (asker, mut out) = stream.into_split();
    out.write_all(begun.as_bytes()).await?;
    let mut lines = BufReader::new(asker.take(1024)).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) if line == "end" => break,
                // The asker has left.
                _ => return Ok(()),
            },
            () = tokio::time::sleep(GLANCE) => send_finished(run.folder.path(), &mut out).await?,
        }
    }
    run.profiling.stop();
    run.pool.drained(PATIENCE).await;
    let _ = tokio::time::timeout(PATIENCE, run.pool.finished_all()).await;
    send_finished(run.folder.path(), &mut out).await?;
    let counts = run.profiling.counts();
    let end = json!({
        "end": true,
        "taken": counts.taken,
        "foreign": counts.foreign,
        "deaths": run.pool.deaths(),
    });
    out.write_all(format!("{end}\n").as_bytes()).await
}

/// Sends the finished profiles, in the order of their requests, and removes them.
async fn send_finished(folder: &Path, out: &mut (impl AsyncWriteExt + Unpin)) -> io::Result<()> {
    for (request, file) in finished(folder)? {
        let mut profile = tokio::fs::File::open(&file).await?;
        let length = profile.metadata().await?.len();
        let line = json!({ "request": request, "bytes": length });
        out.write_all(format!("{line}\n").as_bytes()).await?;
        let sent = tokio::io::copy(&mut (&mut profile).take(length), out).await?;
        if sent != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        tokio::fs::remove_file(&file).await?;
    }
    Ok(())
}

/// Returns the profiles that are complete, with the numbers of their requests.
fn finished(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| {
            let (request, _) = name.strip_suffix(".out")?.split_once('-')?;
            request.parse::<u64>().ok()
        });
        // A link could lead to a file that is no profile.
        if let (Some(number), true) = (number, entry.file_type()?.is_file()) {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_orders_are_obeyed() {
        let token = || Token::random().expect("a token");
        for order in [
            "",
            "secret ",
            "one-in",
            "one-in 0 /",
            "one-in 2 x",
            "one-in x /",
        ] {
            assert!(choice(order, token()).is_none(), "{order}");
        }
        let secret = token();
        let text = secret.text().to_owned();
        let Some(ExactChoice::Secret(is_secret)) = choice("secret", secret) else {
            panic!("no choice");
        };
        assert!(is_secret(&text) && !is_secret("") && !is_secret(&text[1..]));
        let chosen = choice("one-in 10 /shop", token());
        let Some(ExactChoice::OneIn { location, every }) = chosen else {
            panic!("no choice");
        };
        assert_eq!((location.as_str(), every), ("/shop", 10));
    }

    #[test]
    fn only_files_with_the_names_of_finished_profiles_are_sent_in_order() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["10-5.out", "9-5.out", "11-5.part", "x-1.out", "12.out"] {
            std::fs::write(folder.path().join(name), "x").expect("written");
        }
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("8-1.out")).expect("a link");
        let found = finished(folder.path()).expect("a folder");
        let numbers: Vec<u64> = found.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [9, 10]);
    }
}
