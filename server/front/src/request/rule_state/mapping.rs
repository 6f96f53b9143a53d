//! Holds what rules and scripts have decided about the mapping of a resource to a file or a back
//! end.

use mehari_config::{Forced, Proxied};
use std::sync::Arc;

#[derive(Debug, Default, Clone)]
pub struct MappingState {
    /// The result of the host's rules for this resource. `None`: the rules have not run.
    pub destination: Option<Destination>,
    /// The file that an edge script has set. It counts before the rules' destination.
    pub file_by_script: Option<Vec<u8>>,
    /// Whether the folder's rules have finished, so that they do not run again for this resource.
    pub rewritten_in_folder: bool,
    /// The handlers and media types that `RewriteRule [H=]` and `[T=]` have set for this resource.
    pub forced: Vec<Arc<Forced>>,
    /// The names of the resource's variants that access rules refuse to the client.
    pub refused_variants: Vec<Vec<u8>>,
    /// Whether a thread has read the path's metadata from the disk.
    pub fetched: bool,
}

/// The mapping of a resource.
#[derive(Debug, Clone)]
pub enum Destination {
    /// The path is mapped as the configuration says.
    Mapped,
    /// A file that rules have chosen instead of mapping the path.
    File(Vec<u8>),
    BackEnd(Arc<Proxied>),
}

impl MappingState {
    /// Returns the file that a script or a rule has set in place of the mapped file.
    pub fn file(&self) -> Option<&[u8]> {
        match (&self.file_by_script, &self.destination) {
            (Some(file), _) | (None, Some(Destination::File(file))) => Some(file),
            _ => None,
        }
    }

    /// Returns the back end that a rule has chosen.
    pub fn back_end(&self) -> Option<&Arc<Proxied>> {
        match &self.destination {
            Some(Destination::BackEnd(proxied)) if self.file_by_script.is_none() => Some(proxied),
            _ => None,
        }
    }

    /// Whether a rule has chosen the handler or the back end. A kept route of the path is then of
    /// no use.
    pub fn has_chosen_handler(&self) -> bool {
        !self.forced.is_empty() || self.back_end().is_some()
    }

    /// Drops the rules' results for the earlier resource.
    pub(super) fn leave_resource(&mut self) {
        self.destination = None;
        self.refused_variants.clear();
        self.rewritten_in_folder = false;
        self.forced.clear();
    }
}
