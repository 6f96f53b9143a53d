//! The orders that a launcher takes and the messages that it sends.

/// The launcher has become the pool's user. First message.
pub const READY: u32 = 1;
/// Start a zygote. Descriptors: control socket, the bell's page and event, standard error.
pub const START: u32 = 2;
/// Answer: the zygote's process number.
pub const STARTED: u32 = 3;
/// Answer: why there is no zygote.
pub const FAILED: u32 = 4;
/// The zygote with this process number has ended.
pub const ENDED: u32 = 5;
/// Send a signal to a process. The text has the process number and the signal.
pub const SIGNAL: u32 = 6;
/// Send a signal to a process group.
pub const GROUP: u32 = 7;
/// Send a signal to a zygote, if it has not ended.
pub const ZYGOTE: u32 = 8;
/// Read the memory of a process and of those below it. The text has its number, then the numbers
/// of processes that are left out. Last answer: no text.
pub const MEMORY: u32 = 9;
/// Answer: the number of a process, a line end, and the text of its memory.
pub const PROCESS: u32 = 10;
