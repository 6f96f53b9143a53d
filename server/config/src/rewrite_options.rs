//! The options of rewriting.

/// The words of `RewriteOptions` that have an effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize)]
pub struct RewriteOptions {
    /// The rules of outer scopes run after the rules of this scope.
    pub inherit: bool,
    /// The rules of outer scopes run before the rules of this scope.
    pub inherit_before: bool,
    /// The rules of this scope run after the rules of inner scopes.
    pub inherit_down: bool,
    /// The rules of this scope run before the rules of inner scopes.
    pub inherit_down_before: bool,
    /// What outer scopes pass down is not inherited.
    pub ignore_inherit: bool,
    /// The rules of a folder also see the folder itself without the final slash.
    pub allow_no_slash: bool,
    /// `RewriteBase` is inherited.
    pub merge_base: bool,
}

impl RewriteOptions {
    pub fn add(&mut self, more: RewriteOptions) {
        self.inherit |= more.inherit;
        self.inherit_before |= more.inherit_before;
        self.inherit_down |= more.inherit_down;
        self.inherit_down_before |= more.inherit_down_before;
        self.ignore_inherit |= more.ignore_inherit;
        self.allow_no_slash |= more.allow_no_slash;
        self.merge_base |= more.merge_base;
    }
}
