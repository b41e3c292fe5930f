//! How much to submit at a time. Submitted work cannot be taken back, it freezes the reader's desktop, and
//! drivers reset a device that takes seconds.

use std::time::Duration;

/// Dispatches of the first submit of a routine, before it is measured.
const FIRST: usize = 16;

/// Most dispatches in one submit.
const MOST: usize = 4096;

/// How many dispatches of each routine to submit at a time, as measured so far.
#[derive(Debug)]
pub(super) struct SubmitSize {
    routines: Vec<Known>,
    /// The longest submit that was waited for, and how many dispatches it had.
    pub(super) longest: (Duration, usize),
}

#[derive(Debug, Clone, Copy)]
struct Known {
    /// Seconds per dispatch, if any was measured.
    each: Option<f64>,
    /// Dispatches of the largest submit that kept within its time.
    fits: usize,
}

impl SubmitSize {
    pub(super) fn new(routines: usize) -> Self {
        let unknown = Known { each: None, fits: FIRST / 2 };
        Self { routines: vec![unknown; routines], longest: (Duration::ZERO, 0) }
    }

    /// How many dispatches of a routine take about as long as `slice`. The number at most doubles from submit
    /// to submit, since later dispatches may take longer than those that were measured.
    pub(super) fn dispatches(&self, routine: usize, slice: Duration) -> usize {
        let Known { each, fits } = self.routines[routine];
        let measured = each.map_or(FIRST, |each| (slice.as_secs_f64() / each) as usize);
        measured.min(2 * fits).clamp(1, MOST)
    }

    /// Records that `dispatches` of a routine took this long.
    pub(super) fn record(&mut self, routine: usize, dispatches: usize, took: Duration) {
        if took > self.longest.0 {
            self.longest = (took, dispatches);
        }
        let known = &mut self.routines[routine];
        // Browsers coarsen their clocks, so no interval counts as zero.
        let each = took.as_secs_f64().max(1e-5) / dispatches.max(1) as f64;
        // The estimate rises at once but falls gradually: stages of a routine differ.
        known.each = Some(known.each.map_or(each, |before| each.max(0.5 * (before + each))));
        known.fits = dispatches.max(known.fits.min(2 * dispatches));
    }

    /// Records that `dispatches` of a routine took at most this long, as part of a longer wait.
    pub(super) fn record_at_most(&mut self, routine: usize, dispatches: usize, took: Duration) {
        let known = &mut self.routines[routine];
        let each = took.as_secs_f64().max(1e-5) / dispatches.max(1) as f64;
        let each = known.each.map_or(each, |before| before.min(each));
        known.each = Some(each);
        known.fits = known.fits.max(dispatches.min(MOST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of successive submits on a device that takes `each` milliseconds per dispatch.
    fn sizes(each: &[f64], slice: Duration) -> Vec<usize> {
        let mut size = SubmitSize::new(1);
        each.iter()
            .map(|each| {
                let dispatches = size.dispatches(0, slice);
                size.record(
                    0,
                    dispatches,
                    Duration::from_secs_f64(1e-3 * each * dispatches as f64),
                );
                dispatches
            })
            .collect()
    }

    #[test]
    fn submits_come_to_fit_their_time() {
        let slice = Duration::from_millis(50);
        assert_eq!(sizes(&[1.0; 6], slice), [16, 32, 50, 50, 50, 50]);
        assert_eq!(sizes(&[20.0; 4], slice), [16, 2, 2, 2]);
        assert_eq!(sizes(&[80.0; 3], slice), [16, 1, 1]);
        // Halfway through, dispatches start to take eight times as long.
        assert_eq!(sizes(&[1.0, 1.0, 1.0, 8.0, 8.0], slice), [16, 32, 50, 50, 6]);
        let interacting = Duration::from_millis(16);
        assert_eq!(sizes(&[1.0; 4], interacting), [16, 16, 16, 16]);
        // However fast the device, a submit stays bounded.
        assert_eq!(sizes(&[1e-6; 12], slice).pop(), Some(MOST));
    }
}
