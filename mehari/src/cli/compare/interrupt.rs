//! Handles Ctrl-C. The first Ctrl-C stops the measurement, which ends its server. The second Ctrl-C
//! kills the server and ends the program.

use std::sync::atomic::{AtomicI32, Ordering};

use mehari_load::Control;
use rustix::process::{kill_process_group, Pid, Signal};
use signal_hook::consts::{SIGINT, SIGTERM};

/// The process group of the running server, or 0.
static SERVER: AtomicI32 = AtomicI32::new(0);

pub fn remember(group: Option<Pid>) {
    let group = group.map_or(0, |pid| pid.as_raw_nonzero().get());
    SERVER.store(group, Ordering::SeqCst);
}

/// Stops `control` at the first signal.
pub fn watch(control: Control) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if control.is_stopped() {
                if let Some(group) = Pid::from_raw(SERVER.load(Ordering::SeqCst)) {
                    let _ = kill_process_group(group, Signal::Kill);
                }
                std::process::exit(130);
            }
            control.stop();
        }
    });
    Ok(())
}
