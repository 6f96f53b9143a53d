//! (opens with this crate's first module)
