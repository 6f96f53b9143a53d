//! One change a directive makes to the [`crate::Settings`] of its section.

/// Applied in Apache's merging order by [`crate::Site::settings`].
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum Change {
    Handler(Option<crate::Handler>),
}
