//! Asks a zygote about a script, for `mehari explain`. The zygote belongs to a running server or is
//! started for the question. The module `explanation` reads the answer.

use crate::explanation::{Answer, ExplainError, Questions};
use crate::inner::Pool;
use crate::loading::{Loading, Occasion};
use crate::readiness::next_message;
use mehari_config::Site;
use mehari_observe::ErrorLog;
use mehari_wire::layout::control;
use mehari_wire::Bell;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn unloaded(error: impl Display) -> ExplainError {
    ExplainError::Load(error.to_string())
}

impl Pool {
    /// Asks the current generation's zygote of this Perl about a script's file.
    ///
    /// # Errors
    ///
    /// [`ExplainError`] if the zygote is gone, or if its process for the answer ends early.
    pub async fn explain(&self, perl: usize, file: &Path) -> Answer {
        let (zygote, number, answer) = {
            let mut inner = self.borrow();
            let zygote = inner.serving_zygote(perl);
            let zygote = zygote.and_then(|it| it.zygote.clone());
            let (number, answer) = inner.questions.ask();
            (zygote.ok_or(ExplainError::Gone)?, number, answer)
        };
        let asked = zygote.ask_explanation(number, file.as_os_str().as_bytes());
        asked.await.map_err(|_| ExplainError::Gone)?;
        answer.await.unwrap_or(Err(ExplainError::Gone))
    }
}

/// Loads the site's modules in a new zygote and asks this zygote about a script's file. Await it in
/// a [`tokio::task::LocalSet`].
///
/// # Errors
///
/// [`ExplainError`] if the site does not load, or as for [`Pool::explain`].
pub async fn explain_unserved(site: &Site, perl: usize, file: &Path, log: ErrorLog) -> Answer {
    let loading = Loading {
        site,
        perl,
        bell: &Bell::create().map_err(unloaded)?,
        log,
        learned: &[],
        warms: false,
        launcher: None,
    };
    let (mut zygote, _) = loading.load(Occasion::Trial).await.map_err(unloaded)?;
    let mut questions = Questions::default();
    let (number, mut answer) = questions.ask();
    let asked = zygote.ask_explanation(number, file.as_os_str().as_bytes());
    asked.await.map_err(|_| ExplainError::Gone)?;
    let answer = loop {
        match next_message(&zygote.control).await {
            Ok(Some(message)) if message.head.kind == control::EXPLAINED => {
                questions.learn(&message);
            }
            Ok(Some(_)) => continue,
            _ => break Err(ExplainError::Gone),
        }
        if let Ok(answer) = answer.try_recv() {
            break answer;
        }
    };
    zygote.control.get_ref().hang_up();
    let _ = zygote.wait().await;
    answer
}
