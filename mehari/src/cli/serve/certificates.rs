//! Loads renewed certificates without a reload or a restart.

use super::reload::Reloader;
use super::watch::look;
use std::rc::Rc;
use std::time::Duration;

/// The time between two checks of the files. Files are checked by name, so a changed link counts,
/// too.
const PAUSE: Duration = Duration::from_secs(2);

pub async fn watch(reloader: Rc<Reloader>) {
    let mut known = look(reloader.certificate_files()).await;
    loop {
        if known.is_empty() {
            reloader.certificates_replaced().await;
        } else {
            tokio::time::sleep(PAUSE).await;
        }
        let mut now = look(reloader.certificate_files()).await;
        if now == known {
            continue;
        }
        // A certificate and its key are two files. The loop waits until the files no longer change.
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let later = look(reloader.certificate_files()).await;
            if later == std::mem::replace(&mut now, later.clone()) {
                break;
            }
        }
        known = now;
        reloader.reload_certificates();
    }
}
