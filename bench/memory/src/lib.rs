//! Measures the memory of Perl: what a module costs, and which variables grow, and which
//! variables lose the memory that processes share.
//!
//! [`ModuleTrial`] loads modules, each in a forked process of its own, and reads the memory of
//! these processes. [`Heap`] finds all values of a running perl in a copy of its memory, and
//! [`leaks`] compares two of these looks. [`UnsharingWatch`] compares a process with the process
//! that forked it, and stops it at its page faults. [`LatePreload`] measures what loading modules
//! before the fork saves. The command `mehari memory` chooses modules and
//! processes and prints the figures.

mod error;
mod extents;
mod faults;
mod graph;
mod heap;
mod leaks;
mod links;
mod loaded;
mod modules;
mod pages;
mod preload;
mod sites;
mod sizes;
mod snapshot;
mod unsharing;

pub use error::MemoryError;
pub use heap::Heap;
pub use leaks::{leaks, Leak};
pub use modules::{FurtherImport, ModuleLoad, ModuleTrial, TriedModule};
pub use preload::{LatePreload, PreloadAdvice};
pub use sites::Site;
pub use unsharing::{parent, Unsharing, UnsharingWatch};
