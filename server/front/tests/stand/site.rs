//! A site over a folder, as `mehari serve DIR` makes one.

use mehari_config::{Rung, Site};
use std::path::Path;

pub fn site(root: &Path) -> Site {
    Site::zero(root, Some(Rung::Auto)).expect("a folder")
}
