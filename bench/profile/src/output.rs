//! Profiles as text.

mod text;

pub use text::text;
