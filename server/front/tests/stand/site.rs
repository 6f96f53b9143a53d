//! Makes a site for a directory, as `mehari serve DIR` does.

use mehari_config::{Rung, Site};
use std::path::Path;

pub fn site(root: &Path) -> Site {
    Site::zero(root, Some(Rung::Auto)).expect("a folder")
}
