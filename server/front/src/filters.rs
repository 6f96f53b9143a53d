//! Output filters change a response between the handler and the client.
//!
//! `plan` decides whether a response is compressed, and `encoder` compresses it. `header_rules`
//! applies `Header` and `RequestHeader`. Bodies pass through `handlers::filtered` and
//! `content::variants`.

mod encoder;
pub mod header_rules;
mod plan;
pub mod vary;

pub use encoder::{whole, Encoder, IN_PLACE};
pub use plan::{is_set, offers, plan, Plan};
