//! `mehari`: one file a subcommand; this is the table of contents.

use std::process::ExitCode;

#[macro_use]
mod say;
mod cli;

fn main() -> ExitCode {
    end_on_panic();
    cli::run(std::env::args_os().collect())
}

/// What panics does not go on half done. LuaJIT raises its errors by unwinding, so `panic = "abort"` cannot say it.
fn end_on_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::abort();
    }));
}
