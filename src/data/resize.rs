//! Resizing along one axis, as a list of taps.

/// `weight` of source position `from` goes to target position `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tap {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) weight: f32,
}

/// Taps that map `source` positions to `target` positions, in the order of `to`.
///
/// Shrinking averages the area that a target pixel covers; growing interpolates linearly. Weights
/// of a target pixel sum to 1, and equal lengths give the identity.
pub(super) fn taps(source: usize, target: usize) -> Vec<Tap> {
    let mut taps = Vec::new();
    for to in 0..target {
        if target <= source {
            // In units of 1 / target of a source pixel, all edges are integers.
            let (start, end) = (to * source, (to + 1) * source);
            for from in start / target..end.div_ceil(target) {
                let overlap = end.min((from + 1) * target) - start.max(from * target);
                taps.push(Tap { from, to, weight: overlap as f32 / source as f32 });
            }
        } else {
            let centre = (to as f32 + 0.5) * source as f32 / target as f32 - 0.5;
            let centre = centre.clamp(0.0, (source - 1) as f32);
            let (from, after) = (centre as usize, centre.fract());
            taps.push(Tap { from, to, weight: 1.0 - after });
            if after > 0.0 {
                taps.push(Tap { from: from + 1, to, weight: after });
            }
        }
    }
    taps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resize(source: &[f32], target: usize) -> Vec<f32> {
        let mut out = vec![0.0; target];
        for tap in taps(source.len(), target) {
            out[tap.to] += tap.weight * source[tap.from];
        }
        out
    }

    #[test]
    fn equal_lengths_are_the_identity() {
        assert_eq!(resize(&[1.0, 2.0, 5.0], 3), [1.0, 2.0, 5.0]);
    }

    #[test]
    fn shrinking_averages_areas() {
        assert_eq!(resize(&[1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
        assert_eq!(resize(&[0.0, 3.0, 6.0], 2), [1.0, 5.0]);
    }

    #[test]
    fn growing_interpolates() {
        assert_eq!(resize(&[0.0, 4.0], 4), [0.0, 1.0, 3.0, 4.0]);
        assert_eq!(resize(&[2.0], 3), [2.0; 3]);
    }

    #[test]
    fn weights_sum_to_one_at_any_pair_of_lengths() {
        for source in 1..40 {
            for target in 1..40 {
                for value in resize(&vec![1.0; source], target) {
                    assert!((value - 1.0).abs() < 1e-6, "{source} to {target}");
                }
            }
        }
    }
}
