//! `mehari top`: the running server on a terminal.
//!
//! [`Figures`] reads a status, [`table`] sorts and writes the workers, and [`screen`] shows both
//! until the user leaves. `once` prints one frame for a pipe.

mod figures;
mod screen;
mod table;

use crate::watched_server::WatchedServer;
use figures::Figures;
pub use table::{Column, Order};

/// The time between two looks for one frame, in which rates are counted.
const LOOK: std::time::Duration = std::time::Duration::from_millis(500);

/// Returns one frame as text: the figures and all workers.
///
/// # Errors
/// No server answers.
pub fn once(server: &WatchedServer, order: Order) -> Result<String, String> {
    let first = Figures::of(&server.now()?, None);
    std::thread::sleep(LOOK);
    let status = server.now()?;
    let figures = Figures::of(&status, Some(&first));
    let mut text = figures.lines().join("\n");
    text.push_str("\n\n");
    text.push_str(&table::text(&table::rows(&status, order)));
    Ok(text)
}

/// Shows the server until the user leaves.
///
/// # Errors
/// No server answers, or the terminal cannot be used.
pub fn show(server: &WatchedServer, order: Order) -> Result<(), String> {
    screen::run(server, order)
}
