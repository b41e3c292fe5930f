//! How an optimizer's stage is recorded.

use bytemuck::Pod;

use super::super::finish_step::STEP_STATE;
use super::super::{cover, wide};
use crate::compute::{Kernel, Program, View};
use crate::error::Result;

/// How many times a thread of the GPU updates a weight (or four): starting a thread takes time, too.
const EACH: usize = 4;

/// Records an update of `len` weights. `arrays` are gradients, weights, their average, and the optimizer's
/// own state.
pub(crate) fn record<P: Pod>(
    program: &mut Program,
    kernel: &'static Kernel,
    params: &P,
    step_state: View,
    arrays: &[View],
    len: usize,
) -> Result<()> {
    let mut bindings = vec![(step_state, STEP_STATE)];
    bindings.extend(arrays.iter().map(|array| (*array, len)));
    let wide = wide(len, arrays, program.members());
    let constants = [("WIDE", wide as u32), ("EACH", EACH as u32)];
    program.stage(kernel, &constants, params, &bindings, cover((len / wide).div_ceil(EACH)))
}
