//! Measures the memory of Perl: what a module costs.
//!
//! [`ModuleTrial`] loads modules, each in a forked process of its own, and reads the memory of
//! these processes. The command `mehari memory` chooses the modules and prints the figures.

mod error;
mod modules;

pub use error::MemoryError;
pub use modules::{ModuleLoad, ModuleTrial, TriedModule};
