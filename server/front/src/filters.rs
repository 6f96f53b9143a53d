//! Output filters change a response between the handler and the client.
//!
//! `plan` decides whether a response is compressed, and `encoder` compresses it. `editor` applies
//! the rules of `Substitute`. `header_rules` applies `Header` and `RequestHeader`. Bodies pass
//! through `handlers::filtered` and `content::variants`.

mod editor;
mod encoder;
pub mod header_rules;
mod plan;
mod transform;
pub mod vary;

pub use editor::{Editor, LineTooLong};
pub use encoder::{whole, Encoder, IN_PLACE};
pub use plan::{edits, is_set, media_type, offers, plan, Plan};
pub use transform::Transform;
