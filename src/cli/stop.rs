//! Ctrl-C and SIGTERM cancel the running work, whose state can then be saved.

use std::io::IsTerminal;
use std::sync::OnceLock;

use hidden_gaussian::compute::Control;
use hidden_gaussian::{Error, ErrorKind, Result};

/// Whether `result` is the error of work that the user cancelled.
pub(super) fn was_stopped<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(|error| error.kind == ErrorKind::Cancelled)
}

/// The control that Ctrl-C cancels. Pressing Ctrl-C again ends the program at once. Without a terminal only
/// SIGKILL does, since a scheduler may repeat SIGTERM while the state is saved.
pub(super) fn control() -> Result<&'static Control> {
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
    control.map_err(|error| Error::internal(format!("Ctrl-C could not be caught: {error}")))
}
