//! Importers: valid files round-trip, each kind of bad file has its own error, and no bytes cause a panic.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;
use std::process::Command;

use hidden_gaussian::{
    Error, ErrorKind,
    data::{
        Builder, Channels, Dataset, Fit, Format, MAX_BYTES, MAX_SIDE, MAX_VALUES, Options, Picture,
        Shape, cifar10::fetch::read_sheet, detect, import, packed::Packed, read as read_path,
        zip_entries,
    },
};
use image::{ExtendedColorType, ImageEncoder, ImageFormat, codecs::jpeg::JpegEncoder};
use miniz_oxide::deflate::compress_to_vec;
use proptest::prelude::*;

// Files as other programs write them.

fn idx(count: u32, height: u32, width: u32, pixels: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, 3];
    for n in [count, height, width] {
        file.extend(n.to_be_bytes());
    }
    file.extend(pixels);
    file
}

fn cifar(labels: &[u8]) -> Vec<u8> {
    let planes = [[200_u8; 1024], [100; 1024], [0; 1024]].concat();
    labels.iter().flat_map(|&label| [&[label][..], &planes].concat()).collect()
}

fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 * (crc & 1)))
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let tail = [crc32(bytes).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", &compress_to_vec(bytes, 6)[..], &tail].concat()
}

/// A zip archive; files are deflated if `deflate`, and otherwise stored.
fn zip(files: &[(&str, &[u8])], deflate: bool) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let packed = if deflate { compress_to_vec(bytes, 6) } else { bytes.to_vec() };
        let offset = archive.len() as u32;
        let mut fields = vec![20, 0, 0, 0, if deflate { 8 } else { 0 }, 0, 0, 0, 0, 0];
        for n in [crc32(bytes), packed.len() as u32, bytes.len() as u32, name.len() as u32] {
            fields.extend(n.to_le_bytes());
        }
        archive.extend([b"PK\x03\x04", &fields[..], name.as_bytes(), &packed].concat());
        let rest = [&[0; 10][..], &offset.to_le_bytes(), name.as_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\x00", &fields[..], &rest].concat());
    }
    let (count, start) = ((files.len() as u16).to_le_bytes(), archive.len() as u32);
    let size = directory.len() as u32;
    archive.extend(directory);
    archive.extend([b"PK\x05\x06\x00\x00\x00\x00", &count[..], &count].concat());
    archive.extend([&size.to_le_bytes()[..], &start.to_le_bytes(), &[0, 0]].concat());
    archive
}

fn packed() -> Packed {
    Packed {
        name: "Name".into(),
        source: "Source".into(),
        licence: "Licence".into(),
        count: 3,
        height: 2,
        width: 2,
        channels: 1,
        patches: false,
        classes: vec!["one".into(), "other".into()],
        labels: vec![0, 1, 1],
        pixels: (0..12).collect(),
    }
}

/// One valid file of each kind.
fn valid_files() -> Vec<(&'static str, Vec<u8>)> {
    let pixels: Vec<u8> = (0..=255).cycle().take(3 * 5 * 4).collect();
    let images = idx(3, 5, 4, &pixels);
    let array = npy("'|u1'", false, "(3, 5, 4)", &pixels);
    let fractions = floats(&pixels.iter().map(|&v| f32::from(v) / 255.0).collect::<Vec<_>>());
    vec![
        ("cifar.bin", cifar(&[3, 9])),
        ("images.npy", npy("'<f4'", true, "(3, 5, 4)", &fractions)),
        ("images.npz", zip(&[("labels.npy", b"123"), ("images.npy", &array)], true)),
        ("stored.npz", zip(&[("images.npy", &array)], false)),
        ("images-idx3-ubyte.gz", gzip(&images)),
        ("images.npy", array),
        ("images-idx3-ubyte", images),
        ("set.bin", packed().encode()),
    ]
}

fn read(name: &str, bytes: &[u8]) -> Result<Dataset, Error> {
    import(name, bytes, &Options::default())
}

/// The error's message; its kind must be bad input, and it must have a hint.
fn bad_input(name: &str, bytes: &[u8]) -> String {
    let error = read(name, bytes).unwrap_err();
    assert_eq!(error.kind, ErrorKind::BadInput, "{error}");
    assert!(!error.hint.is_empty(), "{error}");
    error.message.clone()
}

fn as_bytes(image: &[f32]) -> Vec<u8> {
    image.iter().map(|v| ((v + 1.0) * 127.5).round() as u8).collect()
}

#[test]
fn idx_round_trip() {
    let pixels: Vec<u8> = (0..2 * 3 * 3).map(|i| i * 14).collect();
    let file = idx(2, 3, 3, &pixels);
    for (name, bytes) in [("a-ubyte", file.clone()), ("a.gz", gzip(&file)), ("unnamed", file)] {
        let set = read(name, &bytes).unwrap();
        assert_eq!((set.len(), set.shape()), (2, Shape { height: 3, width: 3, channels: 1 }));
        assert_eq!(as_bytes(set.images()), pixels);
    }
}

#[test]
fn cifar_in_colour_and_grey() {
    for file in [cifar(&[0, 9, 4]), gzip(&cifar(&[0, 9, 4]))] {
        let set = read("data_batch_1.bin", &file).unwrap();
        assert_eq!(set.shape(), Shape { height: 32, width: 32, channels: 3 });
        assert_eq!(set.labels().unwrap().name_of(1), Some("truck"));
        assert_eq!(set.class("deer").unwrap().len(), 1);
        let small = Options { size: Some(8), ..Options::default() };
        let set = import("data_batch_1.bin", &file, &small).unwrap();
        assert_eq!((set.len(), set.dim()), (3, 8 * 8 * 3));
        assert_eq!(as_bytes(&set.image(2)[..3]), [200, 100, 0]);
        let grey = Options { channels: Some(Channels::Grey), ..Options::default() };
        let grey = import("data_batch_1.bin", &file, &grey).unwrap();
        assert_eq!(grey.dim(), 32 * 32);
        assert_eq!(as_bytes(&grey.image(0)[..1]), [114]);
    }
}

/// An array of each supported type, written by NumPy 2.4:
/// ```python
/// x = np.array([[[0, 51], [102, 255]], [[255, 1], [2, 3]]])
/// np.savez_compressed("numpy.npz", b1=x > 100, u1=x.astype("u1"), i1=(x - 128).astype("i1"),
///     **{f"{o}{t}": v.astype({"l": "<", "b": ">"}[o] + t) for o in "lb" for t, v in
///        dict(u2=x * 257, i2=x * 100 - 12750, f2=x / 255, f4=x / 255, f8=x * 2 / 255 - 1).items()},
///     fortran=np.asfortranarray(x.astype("f4")))
/// ```
const NUMPY: &[u8] = include_bytes!("fixtures/numpy.npz");

#[test]
fn npy_in_every_type_as_numpy_writes_it() {
    let entries = zip_entries(NUMPY).unwrap();
    assert_eq!(entries.len(), 14);
    for entry in entries {
        let name = entry.name();
        let set = read(&name, &entry.read().unwrap()).unwrap();
        assert_eq!(set.shape(), Shape { height: 2, width: 2, channels: 1 }, "{name}");
        let expected = match name.as_str() {
            "b1.npy" => [0, 0, 255, 255, 255, 0, 0, 0],
            _ => [0, 51, 102, 255, 255, 1, 2, 3],
        };
        assert_eq!(as_bytes(set.images()), expected, "{name}");
    }
}

#[test]
fn npy_with_channels_first() {
    let pixels: Vec<u8> = (0..3 * 4).map(|i| i * 20).collect();
    let set = read("a.npy", &npy("'|u1'", false, "(1, 3, 2, 2)", &pixels)).unwrap();
    assert_eq!(as_bytes(&set.image(0)[..6]), [0, 80, 160, 20, 100, 180]);
}

#[test]
fn npz_takes_the_largest_array() {
    let large = npy("'|u1'", false, "(4, 2, 2)", &[7; 16]);
    let small = npy("'|u1'", false, "(4,)", &[1; 4]);
    for deflate in [true, false] {
        let file = zip(&[("y.npy", &small), ("x.npy", &large), ("y2.npy", &small)], deflate);
        let set = read("set.npz", &file).unwrap();
        assert_eq!((set.len(), set.about.name.as_str()), (4, "x.npy"));
    }
}

#[test]
fn ranges_are_detected_and_told() {
    let cases = [
        ([0.0, 1.0], "from 0 to 1", [0, 255]),
        ([-1.0, 0.0], "from -1 to 1", [0, 128]),
        ([0.0, 51.0], "from 0 to 255", [0, 51]),
        ([-3.0, 7.0], "The least value", [0, 255]),
        ([f32::MIN, f32::MAX], "The least value", [0, 255]),
    ];
    for (values, note, expected) in cases {
        let set = read("a.npy", &npy("'<f4'", false, "(2, 1, 1)", &floats(&values))).unwrap();
        assert!(set.about.note.contains(note), "{}", set.about.note);
        assert_eq!(as_bytes(set.images()), expected);
    }
    assert!(
        bad_input("a.npy", &npy("'<f4'", false, "(2, 1, 1)", &floats(&[300.0; 2])))
            .contains("All values are the same")
    );
}

#[test]
fn large_sets_are_thinned_evenly() {
    let options = Options { max_images: 4, ..Options::default() };
    let pixels: Vec<u8> = (0..8).collect();
    let set = import("a-ubyte", &idx(8, 1, 1, &pixels), &options).unwrap();
    assert_eq!(as_bytes(set.images()), [0, 2, 4, 6]);
    assert_eq!(set.about.note, "4 of 8 images, evenly spaced.");
}

#[test]
fn packed_round_trip() {
    let set = read("set.bin", &packed().encode()).unwrap();
    let about = &set.about;
    assert_eq!(
        [&about.name, &about.source, &about.licence],
        [&packed().name, &packed().source, &packed().licence]
    );
    assert_eq!(as_bytes(set.images()), packed().pixels);
}

#[test]
fn import_leaves_pictures_to_others() {
    assert_eq!(detect("x", b"\x89PNG\r\n\x1a\n"), Some(Format::Picture));
    assert_eq!(detect("x.WebP", b"RIFF"), Some(Format::Picture));
    assert!(bad_input("x.png", b"\x89PNG\r\n\x1a\n").contains("decoded before"));
    let files: [(&str, &[u8]); 4] =
        [("folder/", b""), ("folder/a.png", b"first"), ("b.JPG", b"2"), ("folder/.a.png", b"no")];
    let file = zip(&files, true);
    assert!(bad_input("pictures.zip", &file).contains("decoded before"));
    let entries = zip_entries(&file).unwrap();
    let names: Vec<_> = entries.iter().map(|entry| entry.name()).collect();
    assert_eq!(names, ["folder/a.png", "b.JPG"]);
    assert!(entries.iter().all(|entry| entry.is_picture()));
    assert_eq!(entries[0].read().unwrap(), b"first");
}

#[test]
fn empty_files() {
    for name in ["a", "a.npy", "a.npz", "a.gz", "a-ubyte", "a.bin"] {
        assert!(bad_input(name, b"").contains("The file is empty"));
    }
    assert!(bad_input("a.gz", &gzip(b"")).contains("The file is empty"));
    assert!(bad_input("a.zip", &zip(&[], true)).contains("The archive is empty"));
    assert!(bad_input("a-ubyte", &idx(0, 28, 28, &[])).contains("no images"));
    assert!(bad_input("a-ubyte", &idx(u32::MAX, 0, u32::MAX, &[])).contains("no images"));
    let huge = "(0, 4294967295, 4294967295)";
    assert!(bad_input("a.npy", &npy("'|u1'", false, huge, &[])).contains("no images"));
}

#[test]
fn wrong_magic() {
    let text = b"This is a letter to a friend, and nothing else.";
    assert!(bad_input("a.npy", text).contains("look like a .npy file"));
    assert!(bad_input("train-images-idx3-ubyte", text).contains("look like an IDX file"));
    assert!(bad_input("data_batch_1.bin", text).contains("look like a CIFAR-10 batch"));
    assert!(bad_input("a.npz", text).contains("directory is missing"));
    assert!(bad_input("letter.txt", text).contains("look like any format"));
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(bad_input("cifar.tar.gz", &gzip(&tar)).contains("tar archive"));
    assert!(bad_input("a.gz.gz", &gzip(&gzip(text))).contains("another archive"));
}

#[test]
fn truncated_and_extended_files() {
    for (name, file) in valid_files() {
        assert!(read(name, &file).is_ok(), "{name}");
        let message = bad_input(name, &file[..file.len() - 1]);
        let expected = ["ends early", "damaged", "directory is missing"];
        assert!(expected.iter().any(|text| message.contains(text)), "{name}: {message}");
    }
    let array = npy("'|u1'", false, "(3, 1, 1)", &[1, 2, 3, 4]);
    for (name, file) in [("a-ubyte", idx(1, 1, 1, &[1, 2])), ("a.npy", array)] {
        assert!(bad_input(name, &file).contains("1 bytes longer"));
    }
    let huge = idx(u32::MAX, u32::MAX, u32::MAX, &[1; 100]);
    assert!(bad_input("a-ubyte", &huge).contains("ends early"));
}

#[test]
fn values_that_are_no_numbers() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let file = npy("'<f4'", false, "(3, 1, 1)", &floats(&[0.0, 0.5, bad]));
        assert!(bad_input("a.npy", &file).contains("Image 2 holds a value that is not a finite"));
    }
    let wide = npy("'<f8'", false, "(1, 1, 1)", &1e300_f64.to_le_bytes());
    assert!(bad_input("a.npy", &wide).contains("not a finite number"));
}

#[test]
fn arrays_that_are_no_images() {
    assert!(bad_input("a.npy", &npy("'<i8'", false, "(1,)", &[0; 8])).contains("<i8"));
    let record = "[('x', '<f4')]";
    assert!(bad_input("a.npy", &npy(record, false, "(1,)", &[0; 4])).contains("a structure"));
    for shape in ["(4,)", "(2, 2)", "(1, 2, 1, 2)", "(1, 1, 1, 2, 2)"] {
        assert!(bad_input("a.npy", &npy("'|u1'", false, shape, &[0; 4])).contains("shape"));
    }
    for shape in ["4", "(a, 2)", "(-1, 2, 2)", "(99999999999999999999999,)"] {
        assert!(bad_input("a.npy", &npy("'|u1'", false, shape, &[0; 4])).contains("header"));
    }
    assert!(bad_input("labels", &[0, 0, 8, 1, 0, 0, 0, 1, 5]).contains("labels"));
    assert!(bad_input("a.idx", &[0, 0, 13, 3, 0, 0, 0, 1]).contains("type 13"));
}

#[test]
fn damaged_archives() {
    let file = npy("'|u1'", false, "(1, 2, 2)", &[1, 2, 3, 4]);
    let mut archive = zip(&[("a.npy", &file)], false);
    let at = archive.windows(4).position(|w| w == [1, 2, 3, 4]).unwrap();
    archive[at] ^= 1;
    assert!(bad_input("a.npz", &archive).contains("damaged"));
    archive[at] ^= 1;
    let directory = archive.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    archive[directory + 8] |= 1;
    assert!(bad_input("a.npz", &archive).contains("encrypted"));
    archive[directory + 8] = 0;
    archive[directory + 10] = 99;
    assert!(bad_input("a.npz", &archive).contains("compression method 99"));
}

#[test]
fn oversized_files() {
    let limit = |name: &str, bytes: &[u8], options: &Options| {
        let error = import(name, bytes, options).unwrap_err();
        let ErrorKind::LimitExceeded { need, have } = error.kind else { unreachable!("{error}") };
        assert!(need > have && !error.hint.is_empty(), "{error}");
        have
    };
    let default = Options::default();
    let bytes = MAX_BYTES as u64;
    assert_eq!(limit("a", &vec![0; MAX_BYTES + 1], &default), bytes);
    let bomb = vec![0; MAX_BYTES + 1];
    assert_eq!(limit("a.gz", &gzip(&bomb), &default), bytes);
    assert_eq!(limit("a.zip", &zip(&[("a.npy", &bomb)], true), &default), bytes);
    let line = MAX_SIDE + 1;
    let long = idx(1, 1, line as u32, &vec![0; line]);
    assert_eq!(limit("a-ubyte", &long, &default), MAX_SIDE as u64);
    let small = idx(1, 1, 1, &[0]);
    let channels = Some(Channels::Colour);
    let large = Options { size: Some(MAX_SIDE), channels, ..default };
    assert_eq!(limit("a-ubyte", &small, &large), MAX_VALUES as u64);
    let huge = Options { size: Some(usize::MAX), ..default };
    assert_eq!(limit("a-ubyte", &small, &huge), MAX_SIDE as u64);
}

/// Any result is right as long as there is one: no panic, and only finite values in range.
fn survives(name: &str, bytes: &[u8]) {
    for size in [None, Some(3)] {
        for channels in [None, Some(Channels::Grey), Some(Channels::Colour)] {
            let options = Options { size, channels, max_images: 8, ..Options::default() };
            if let Ok(set) = import(name, bytes, &options) {
                assert!(in_range(&set) && set.len() <= 8, "{name}");
            }
        }
    }
}

fn in_range(set: &Dataset) -> bool {
    set.images().iter().all(|v| (-1.001..=1.001).contains(v))
}

/// A change of a file.
#[derive(Debug, Clone)]
enum Edit {
    Flip(prop::sample::Index, u8),
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Append(Vec<u8>),
    Remove(prop::sample::Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        4 => (index(), 1_u8..).prop_map(|(at, bits)| Edit::Flip(at, bits)),
        4 => (index(), prop::sample::select(vec![0, 1, 127, 128, 255]))
            .prop_map(|(at, value)| Edit::Set(at, value)),
        1 => index().prop_map(Edit::Cut),
        1 => prop::collection::vec(any::<u8>(), 1..40).prop_map(Edit::Append),
        1 => index().prop_map(Edit::Remove),
    ]
}

fn apply(file: &mut Vec<u8>, edit: Edit, header: bool) {
    // Most of a file is pixels, for which any value is valid, so half of the edits aim at the header.
    let reach = if header { file.len().min(64) } else { file.len() };
    if reach == 0 {
        return;
    }
    match edit {
        Edit::Flip(at, bits) => file[at.index(reach)] ^= bits,
        Edit::Set(at, value) => file[at.index(reach)] = value,
        Edit::Cut(at) => file.truncate(at.index(reach)),
        Edit::Append(bytes) => file.extend(bytes),
        Edit::Remove(at) => {
            file.remove(at.index(reach));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn mutated_files_never_panic(
        which in 0..8_usize,
        edits in prop::collection::vec((edit(), any::<bool>()), 1..6),
        pack in any::<bool>(),
    ) {
        let (name, mut file) = valid_files().swap_remove(which);
        for (edit, header) in edits {
            apply(&mut file, edit, header);
        }
        // Checksums would shield the inner importers from damage outside, so also pack after the damage.
        if pack {
            survives(name, &gzip(&file));
            survives("a.zip", &zip(&[(name, &file)], true));
        }
        survives(name, &file);
    }

    #[test]
    fn random_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..4000),
        magic in prop::sample::select(vec![
            &b""[..], b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00", b"\x1f\x8b\x08\x1e", b"PK\x03\x04",
            b"PK\x05\x06", b"\0\0\x08\x03", b"HGIMAGES\x02",
        ]),
        name in prop::sample::select(vec![
            "a", "a.npy", "a.npz", "a.gz", "a-ubyte", "a.bin", "a.zip", "a.png",
        ]),
    ) {
        let file = [magic, &bytes].concat();
        survives(name, &file);
        let _ = zip_entries(&file).map(|entries| entries.iter().for_each(|entry| {
            let _ = entry.read();
        }));
    }

    /// Pictures as a page decodes them, and invalid ones: sizes that do not fit their pixels.
    #[test]
    fn pictures_never_panic(
        pictures in prop::collection::vec((0..40_usize, 0..40_usize, any::<u8>(), 0..8_u8), 0..12),
        channels in prop::sample::select(vec![None, Some(Channels::Grey), Some(Channels::Colour)]),
        stretch in any::<bool>(),
        size in prop::sample::select(vec![None, Some(0), Some(1), Some(3), Some(usize::MAX)]),
    ) {
        let fit = if stretch { Fit::Stretch } else { Fit::Crop };
        let options = Options { size, channels, fit, max_images: 8 };
        let mut builder = Builder::new("pictures", &options);
        let mut count = 0;
        for (width, height, value, oddity) in pictures {
            let mut rgba: Vec<_> = (0..4 * width * height).map(|i| value.wrapping_mul(i as u8)).collect();
            let (width, height) = match oddity {
                0 => (usize::MAX, height),
                1 => (usize::MAX / 2, 4),
                2 => { rgba.pop(); (width, height) }
                _ => (width, height),
            };
            let fits = oddity > 2 || oddity == 2 && rgba.is_empty();
            let pushed = builder.push_picture(Picture { width, height, rgba: &rgba });
            count += usize::from(pushed.is_ok());
            prop_assert!(fits || pushed.is_err(), "{width} × {height} of {} bytes", rgba.len());
        }
        prop_assert!(builder.finish().is_ok_and(|set| in_range(&set)) || count == 0);
    }
}

// Pictures on disk, which only native programs decode.

/// A folder that is removed when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hg-importers-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file into the folder or a subfolder.
    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// A picture of `format`; `pixels` are red, green and blue, or with alpha.
fn picture(format: ImageFormat, width: u32, height: u32, pixels: &[u8]) -> Vec<u8> {
    let colour = match pixels.len() as u32 / (width * height) {
        1 => ExtendedColorType::L8,
        3 => ExtendedColorType::Rgb8,
        _ => ExtendedColorType::Rgba8,
    };
    let mut file = Cursor::new(Vec::new());
    image::write_buffer_with_format(&mut file, pixels, width, height, colour, format).unwrap();
    file.into_inner()
}

fn noise(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|i| (((i + seed) * (i + 7 * seed + 1) * 2_654_435) >> 9) as u8).collect()
}

/// The page passes pixels and a native program reads files; both must give the same set. A PNG can be decoded in
/// only one way.
#[test]
fn a_png_gives_the_same_pixels_as_on_the_page() {
    let folder = Folder::new("png");
    let (width, height) = (9, 14);
    let rgba = noise(4 * width * height, 3);
    folder.write("a.png", &picture(ImageFormat::Png, 9, 14, &rgba));
    for size in [None, Some(4), Some(32)] {
        for channels in [None, Some(Channels::Grey), Some(Channels::Colour)] {
            for fit in [Fit::Crop, Fit::Stretch] {
                let options = Options { size, channels, fit, ..Options::default() };
                let mut page = Builder::new("page", &options);
                page.push_picture(Picture { width, height, rgba: &rgba }).unwrap();
                let page = page.finish().unwrap();
                let native = read_path(&folder.0, &options).unwrap();
                assert_eq!(native.shape(), page.shape());
                assert_eq!(native.images(), page.images(), "{options:?}");
            }
        }
    }
}

/// A sheet with one image per row, as in the npm package; the records made of it; and the images as
/// one picture each: all give the same set.
#[test]
fn cifar_is_the_same_set_from_a_sheet_from_records_and_from_pictures() {
    let labels = [3, 7, 0, 7, 9];
    let rows: Vec<Vec<u8>> = (0..5).map(|i| noise(3072, i)).collect();
    let sheet = picture(ImageFormat::Png, 1024, 5, &rows.concat());
    let records = read_sheet(&sheet, &labels).unwrap();
    let set = read("data_batch_1.bin", &records).unwrap();
    assert_eq!(as_bytes(set.image(4)), rows[4]);

    let folder = Folder::new("cifar");
    let mut files = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let file = picture(ImageFormat::Png, 32, 32, row);
        folder.write(&format!("pictures/{i:05}.png"), &file);
        files.push((format!("cifar/{i:05}.png"), file));
    }
    let files: Vec<_> = files.iter().map(|(name, file)| (name.as_str(), file.as_slice())).collect();
    let zip = folder.write("cifar.zip", &zip(&files, false));
    let pixels = Packed {
        count: 5,
        height: 32,
        width: 32,
        channels: 3,
        labels: labels.iter().map(|&label| u8::from(label == 7)).collect(),
        pixels: rows.concat(),
        ..packed()
    };
    let packed = folder.write("cifar.bin", &pixels.encode());
    for path in [folder.0.join("pictures"), zip, packed.clone()] {
        let same = read_path(&path, &Options::default()).unwrap();
        assert_eq!((same.hash(), same.len()), (set.hash(), 5), "{}", path.display());
    }
    let horses = read_path(&packed, &Options::default()).unwrap().class("other").unwrap();
    assert_eq!(horses.hash(), set.class("horse").unwrap().hash());

    assert!(read_sheet(&sheet, &labels[..4]).is_err());
    assert!(read_sheet(&sheet[..sheet.len() / 2], &labels).is_err());
    assert!(read_sheet(&picture(ImageFormat::Png, 32, 32, &rows[0]), &[0; 32]).is_err());
}

#[test]
fn folders_are_read_in_order_and_their_folders_are_classes() {
    let folder = Folder::new("folders");
    let grey = |value| picture(ImageFormat::Png, 2, 2, &[value; 4]);
    for (name, value) in [("b/1.png", 30), ("a/2.PNG", 20), ("a/10.png", 10), ("b/0.png", 25)] {
        folder.write(name, &grey(value));
    }
    folder.write("a/.hidden.png", b"not a picture");
    folder.write(".git/picture.png", b"not a picture");
    folder.write("__MACOSX/a/10.png", b"not a picture");
    folder.write("a/notes.txt", b"not a picture");
    let set = read_path(&folder.0, &Options::default()).unwrap();
    assert_eq!(set.shape(), Shape { height: 2, width: 2, channels: 1 });
    let firsts: Vec<u8> = set.images().chunks(4).map(|image| as_bytes(image)[0]).collect();
    assert_eq!(firsts, [10, 20, 25, 30]);
    assert_eq!(set.labels().unwrap().names(), ["a", "b"]);
    assert_eq!(as_bytes(set.class("b").unwrap().images())[0], 25);
    assert_eq!(set.about.note, "Skipped files that are not pictures: 1.");

    folder.write("b/broken.png", &grey(1)[..40]);
    let error = read_path(&folder.0, &Options::default()).unwrap_err();
    assert!(error.message.starts_with("b/broken.png: the picture can't be decoded"), "{error}");
    assert!(error.hint.contains("Remove it"), "{error}");
    let none = Folder::new("none");
    let error = read_path(&none.0, &Options::default()).unwrap_err();
    assert!(error.message.contains("holds no pictures"), "{error}");
    let error = read_path(&none.0.join("nowhere"), &Options::default()).unwrap_err();
    assert!(error.message.contains("nowhere") && !error.hint.is_empty(), "{error}");
}

#[test]
fn jpeg_and_webp_are_read_and_turned_as_the_camera_was() {
    let folder = Folder::new("formats");
    // The left half is black.
    let pixels: Vec<u8> = (0..16 * 16).map(|i| if i % 16 < 8 { 0 } else { 255 }).collect();
    let rgb: Vec<u8> = pixels.iter().flat_map(|&value| [value; 3]).collect();
    let dark = |set: &Dataset, x: usize, y: usize| set.images()[y * 16 + x] < 0.0;
    let webp = folder.write("a.webp", &picture(ImageFormat::WebP, 16, 16, &rgb));
    let set = read_path(&webp, &Options::default()).unwrap();
    assert_eq!(as_bytes(set.images()), pixels);

    let mut file = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut file, 95);
    // Little-endian, one field: orientation 6, by a quarter to the right.
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    encoder.set_exif_metadata(exif).unwrap();
    encoder.encode(&rgb, 16, 16, ExtendedColorType::Rgb8).unwrap();
    let jpeg = folder.write("a.jpg", &file);
    let set = read_path(&jpeg, &Options::default()).unwrap();
    assert_eq!(set.shape(), Shape { height: 16, width: 16, channels: 1 });
    assert!(dark(&set, 2, 2) && dark(&set, 13, 2) && !dark(&set, 2, 13) && !dark(&set, 13, 13));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn mutated_pictures_never_panic(
        which in 0..3_usize,
        edits in prop::collection::vec((edit(), any::<bool>()), 1..6),
    ) {
        let folder = Folder::new(&format!("mutated-{which}"));
        let format = [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP][which];
        let mut file = picture(format, 13, 11, &noise(13 * 11 * 3, which));
        for (edit, header) in edits {
            apply(&mut file, edit, header);
        }
        let zip = zip(&[("first.png", &picture(ImageFormat::Png, 1, 1, &[7])), ("a.png", &file)], true);
        for path in [folder.write("a.png", &file), folder.write("b.zip", &zip)] {
            if let Ok(set) = read_path(&path, &Options::default()) {
                prop_assert!(in_range(&set));
            }
        }
    }
}

/// The description of a CIFAR-10 batch on the command line, with several options.
#[test]
fn sizes_colours_and_classes_are_the_users() {
    let folder = Folder::new("options");
    let batch = folder.write("data_batch_1.bin", &cifar(&[7, 0, 7, 7]));
    let told = |args: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_hidden-gaussian"));
        let output = program.args(["data", "--data"]).arg(&batch).args(args).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let cases: [(&[&str], &str); 5] = [
        (&[], "4 images of 32 × 32 × 3\nClasses: airplane 1, horse 3"),
        (&["--size", "16", "--channels", "grey"], "4 images of 16 × 16\n"),
        (&["--class", "horse", "--crop", "none"], "3 images of 32 × 32 × 3\nClasses: horse 3"),
        (&["--class", "cow"], "No class of the set is called “cow”"),
        (&["--size", "0"], "An image has no pixels"),
    ];
    for (args, expected) in cases {
        let text = told(args);
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

/// The page gives the same pixels for the same file: its tests drop this archive, and find this hash.
/// `fixtures/pictures.py` makes the archive, and `PICTURES_FIXTURE=write` renews the hash.
#[test]
fn pictures_have_the_pixels_of_the_page() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/native/fixtures");
    let (archive, expected) = (fixtures.join("pictures.zip"), fixtures.join("pictures.json"));
    let writes = std::env::var_os("PICTURES_FIXTURE").is_some_and(|wish| wish == "write");
    let set = read_path(&archive, &Options { size: Some(16), ..Options::default() }).unwrap();
    let found = format!("{{ \"count\": {}, \"hash\": \"{:016x}\" }}\n", set.len(), set.hash());
    if writes {
        fs::write(&expected, &found).unwrap();
    }
    assert_eq!(
        fs::read_to_string(&expected).unwrap(),
        found,
        "renew it with PICTURES_FIXTURE=write"
    );
}
