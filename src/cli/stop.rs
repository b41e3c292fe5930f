//! Ctrl-C, or a scheduler's SIGTERM: the work under way ends with an error, and what it has done can be saved.

use std::io::IsTerminal;
use std::sync::OnceLock;

use hidden_gaussian::compute::Control;
use hidden_gaussian::{Error, ErrorKind, Result};
use pollster::block_on;

/// Does `work` to its end, or until the reader presses Ctrl-C: then it is cancelled.
pub(super) fn until_stopped<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    block_on(control()?.watch(work))
}

/// Whether `result` says that the reader stopped it.
pub(super) fn was_stopped<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(|error| error.kind == ErrorKind::Cancelled)
}

/// What Ctrl-C cancels. A second time ends the program at once, where there is someone to press it: a
/// scheduler may repeat itself, and kills what does not end in time.
fn control() -> Result<&'static Control> {
    static CONTROL: OnceLock<Result<Control, String>> = OnceLock::new();
    let set = || {
        let control = Control::default();
        let pressed = control.clone();
        let stop = move || {
            if pressed.is_cancelled() && std::io::stdin().is_terminal() {
                std::process::exit(130);
            }
            pressed.cancel();
        };
        ctrlc::set_handler(stop).map_err(|error| error.to_string())?;
        Ok(control)
    };
    let control = CONTROL.get_or_init(set).as_ref();
    control.map_err(|error| Error::bad_input(format!("Ctrl-C can't be caught: {error}"), ""))
}
