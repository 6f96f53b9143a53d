//! Measures the memory of Perl: what a module costs, and which variables grow.
//!
//! [`ModuleTrial`] loads modules, each in a forked process of its own, and reads the memory of
//! these processes. [`Heap`] finds all values of a running perl in a copy of its memory, and
//! [`leaks`] compares two of these looks. The command `mehari memory` chooses modules and processes
//! and prints the figures.

mod error;
mod graph;
mod heap;
mod leaks;
mod links;
mod modules;
mod sites;
mod sizes;
mod snapshot;

pub use error::MemoryError;
pub use heap::Heap;
pub use leaks::{leaks, Leak};
pub use modules::{ModuleLoad, ModuleTrial, TriedModule};
pub use sites::Site;
