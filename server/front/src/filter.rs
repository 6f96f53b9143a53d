//! Output filters: what happens to a response's body between its maker and its client.
//!
//! `handling` has files compressed (`files`, kept in `variants`), the HTTP versions have what programs say
//! compressed (`program` decides, `filtered` does it). A place without filters never comes here.

pub mod accept;
mod decided;
mod encoder;
mod files;
mod filtered;
mod program;
mod variants;
mod vary;

pub use accept::weight;
pub use decided::Decided;
pub use encoder::whole;
pub use files::answer as file;
pub use filtered::{Filtered, IN_PLACE};
pub use program::{apply, is_set, plan, Plan};
pub use variants::{Beside, Variants};
