//! Output filters: what happens to a response between its handler and its client.
//!
//! `plan` decides whether a response is compressed and `encoder` compresses it; `header_rules` are
//! `Header` and `RequestHeader`. The bodies themselves pass through `handlers::filtered` and
//! `content::variants`.

mod encoder;
pub mod header_rules;
mod plan;
pub mod vary;

pub use encoder::{whole, Encoder, IN_PLACE};
pub use plan::{is_set, offers, plan, Plan};
