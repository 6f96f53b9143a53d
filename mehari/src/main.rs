//! The program `mehari`. `cli.rs` lists the subcommands, and each subcommand has a file in `cli/`.

use std::process::ExitCode;

#[macro_use]
mod say;
mod cli;

fn main() -> ExitCode {
    end_on_panic();
    cli::run(std::env::args_os().collect())
}

/// Ends the process after a panic. LuaJIT raises errors by unwinding, so `panic = "abort"` is not
/// possible.
fn end_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}
