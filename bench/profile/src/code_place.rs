//! Tells where a process is in its Perl code, for tools that stop the process at a moment.

use crate::names::NameCache;
use crate::process::PerlProcess;
use crate::profile::{FrameLabel, Profile};
use crate::stack::{look, StackPlace};

/// The names of one process's code.
#[derive(Default)]
pub struct CodePlaces {
    names: NameCache,
    frames: Profile,
    place: StackPlace,
}

impl CodePlaces {
    /// Returns the innermost frame of the process. `None`: no Perl code runs, or the process does
    /// not stand still.
    pub fn innermost(&mut self, process: &PerlProcess) -> Option<FrameLabel> {
        let stack = look(process, &mut self.place).ok()?;
        let named = self.names.name(process, &stack, &mut self.frames).ok()?;
        let frame = &self.frames.frames[*named.last()? as usize];
        (frame.line > 0).then(|| frame.clone())
    }
}
