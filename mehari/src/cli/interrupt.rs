//! Ends a command early on Ctrl-C or TERM, with its report.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Returns a flag that SIGINT and SIGTERM set. A command that tells of Ctrl-C calls this before.
///
/// # Errors
/// The kernel refuses the handlers.
pub fn flag() -> Result<Arc<AtomicBool>, String> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, is_over.clone())
            .map_err(|error| format!("no signal handler: {error}"))?;
    }
    Ok(is_over)
}
