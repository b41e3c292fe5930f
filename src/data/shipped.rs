//! The sets that are shipped with the page, as [`Dataset`]s.

use super::{About, Builder, Dataset, Labels, Options, Shape, builder::from_bytes, packed::Packed};
use crate::error::{Error, Result};

pub(super) fn import(bytes: &[u8], options: &Options) -> Result<Dataset> {
    let set = Packed::decode(bytes).map_err(|problem| {
        Error::bad_input(format!("The file {problem}"), "Reload the page, or build it again")
    })?;
    let size = options.size.filter(|_| set.patches).unwrap_or(usize::MAX);
    let (height, width) = (set.height.min(size), set.width.min(size));
    let (top, left) = ((set.height - height) / 2, (set.width - width) / 2);
    let shape = Shape { height, width, channels: set.channels };
    let (row_values, first) = (set.width * set.channels, left * set.channels);

    let mut builder = Builder::new("", options);
    let (name, source, licence) = (set.name, set.source, set.licence);
    builder.about = About { name, source, licence, ..About::default() };
    let chosen: Vec<usize> = builder.choose(set.count).collect();
    for &i in &chosen {
        let rows = &set.pixels[(i * set.height + top) * row_values..];
        let read = |y: usize, row: &mut [f32]| from_bytes(&rows[y * row_values + first..], row);
        let mut mean = 0.0;
        if set.patches {
            let mut row = vec![0.0; shape.width * shape.channels];
            for y in 0..shape.height {
                read(y, &mut row);
                mean += row.iter().sum::<f32>() / shape.dim() as f32;
            }
        }
        builder.push(shape, &mut |y, row| {
            read(y, row);
            for value in row {
                *value = (*value - mean).clamp(-1.0, 1.0);
            }
        })?;
    }
    let made = builder.finish()?;
    if set.classes.is_empty() {
        return Ok(made);
    }
    let labels = chosen.iter().map(|&i| set.labels[i]).collect();
    made.with_labels(Labels::new(set.classes, labels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(patches: bool) -> Packed {
        Packed {
            name: "Squares".into(),
            source: "a test".into(),
            licence: "none — “free”".into(),
            count: 2,
            height: 4,
            width: 4,
            channels: 1,
            patches,
            classes: vec!["first".into(), "second".into()],
            labels: vec![1, 0],
            pixels: (0..32).collect(),
        }
    }

    #[test]
    fn pixels_come_back_whether_they_are_predicted_or_not() {
        for channels in 1..=4 {
            for (height, width) in [(1, 1), (1, 5), (5, 1), (7, 6)] {
                let total = 3 * height * width * channels;
                let noise = (0..total).map(|i| ((i * i * 2_654_435) >> 7) as u8).collect();
                let smooth = (0..total).map(|i| (i / channels) as u8).collect();
                for pixels in [noise, smooth, vec![255; total]] {
                    let (labels, patches) = (vec![0, 1, 0], false);
                    let set = Packed {
                        count: 3,
                        height,
                        width,
                        channels,
                        labels,
                        pixels,
                        ..set(patches)
                    };
                    assert_eq!(Packed::decode(&set.encode()).as_ref(), Ok(&set));
                }
            }
        }
    }

    #[test]
    fn photographs_take_less_space_predicted() {
        // A slope with a little noise, in colour, like a photograph from close by.
        let (height, width, channels) = (32, 32, 3);
        let pixel = |i: usize| {
            let (x, y) = (i / 3 % 32, i / 96 % 32);
            (60 + 2 * x + 3 * y + i % 3 * 20 + ((i * i * 2_654_435) >> 9) % 4) as u8
        };
        let pixels: Vec<u8> = (0..2 * 3072).map(pixel).collect();
        let plain = miniz_oxide::deflate::compress_to_vec_zlib(&pixels, 10).len();
        let set = Packed { height, width, channels, pixels, ..set(false) };
        assert!(3 * set.encode().len() < 2 * plain, "{} of {plain}", set.encode().len());
    }

    #[test]
    fn labels_are_read() {
        let read = import(&set(false).encode(), &Options::default()).unwrap();
        assert_eq!(read.labels().unwrap().name_of(0), Some("second"));
        assert_eq!(read.class("first").unwrap().images(), read.image(1));
        let mut wrong = set(false);
        wrong.labels = vec![0, 2];
        assert!(Packed::decode(&wrong.encode()).is_err());
    }

    #[test]
    fn pictures_are_resized() {
        let options = Options { size: Some(2), ..Options::default() };
        let read = import(&set(false).encode(), &options).unwrap();
        assert_eq!(read.about.licence, "none — “free”");
        let bytes: Vec<f32> = read.image(0).iter().map(|v| (v + 1.0) * 127.5).collect();
        for (value, expected) in bytes.iter().zip([2.5, 4.5, 10.5, 12.5]) {
            assert!((value - expected).abs() < 1e-4, "{bytes:?}");
        }
    }

    #[test]
    fn patches_are_cut_and_centred() {
        let options = Options { size: Some(2), ..Options::default() };
        let read = import(&set(true).encode(), &options).unwrap();
        // The middle of the second image is 21, 22, 25, 26; its mean is 23.5.
        for (value, expected) in read.image(1).iter().zip([-2.5, -1.5, 1.5, 2.5]) {
            assert!((value * 127.5 - expected).abs() < 1e-4);
        }
        let whole = import(&set(true).encode(), &Options::default()).unwrap();
        assert_eq!(whole.shape(), Shape { height: 4, width: 4, channels: 1 });
        assert!(whole.image(0).iter().sum::<f32>().abs() < 1e-6);
        let odd = import(&set(true).encode(), &Options { size: Some(0), ..options });
        assert!(odd.is_err());
    }

    #[test]
    fn damage_is_noticed() {
        let file = set(false).encode();
        assert_eq!(Packed::decode(&file).unwrap(), set(false));
        for length in 0..file.len() {
            assert!(Packed::decode(&file[..length]).is_err());
        }
        let mut newer = file.clone();
        newer[8] += 1;
        let error = import(&newer, &Options::default()).unwrap_err();
        assert!(error.message.contains("another version"));
        let mut short = set(false);
        short.pixels.pop();
        assert!(Packed::decode(&short.encode()).is_err());
    }
}
