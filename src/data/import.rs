//! One entry point for all files: detects what a file is and reads it.

use super::{
    Dataset, Options, archive, bytes::wrong_magic, cifar, cifar10, idx, npy, packed, shipped,
};
use crate::error::{Error, Result};

/// Bytes that a file may have, or unpack to.
pub const MAX_BYTES: usize = 1 << 28;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A gzip file, whose content is known only when it is unpacked.
    Gzip,
    /// A zip archive or an .npz file.
    Zip,
    /// A NumPy array.
    Npy,
    /// A set that is shipped with the page.
    Packed,
    /// A picture, which has to be decoded first.
    Picture,
    /// A tape archive.
    Tar,
    /// The format of MNIST.
    Idx,
    /// A batch of CIFAR-10.
    Cifar,
}

/// Detects the format of `bytes`: by their first bytes, or else by the file's name.
#[must_use]
pub fn detect(name: &str, bytes: &[u8]) -> Option<Format> {
    const MAGICS: [(&[u8], Format); 8] = [
        (&[0x1f, 0x8b], Format::Gzip),
        (b"PK\x03\x04", Format::Zip),
        (b"PK\x05\x06", Format::Zip),
        (npy::MAGIC, Format::Npy),
        (packed::MAGIC, Format::Packed),
        (b"\x89PNG", Format::Picture),
        (&[0xff, 0xd8, 0xff], Format::Picture),
        (b"GIF8", Format::Picture),
    ];
    if let Some((_, format)) = MAGICS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(*format);
    }
    if bytes.get(257..262) == Some(b"ustar") {
        return Some(Format::Tar);
    }
    if matches!(bytes, [0, 0, 8..=14, 1..=8, ..]) {
        return Some(Format::Idx);
    }
    let name = name.to_ascii_lowercase();
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if is_picture(&name) {
        Some(Format::Picture)
    } else if ends(&[".npy"]) {
        Some(Format::Npy)
    } else if ends(&[".npz", ".zip"]) {
        Some(Format::Zip)
    } else if ends(&[".idx", "ubyte"]) {
        Some(Format::Idx)
    } else if ends(&[".bin"])
        || (bytes.len().is_multiple_of(cifar10::RECORD) && cifar::looks_like(bytes))
    {
        Some(Format::Cifar)
    } else {
        None
    }
}

/// Whether `name` is that of a picture that browsers decode.
pub(super) fn is_picture(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".avif"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Reads a file: IDX, CIFAR-10, .npy or a shipped set, or a gzip or zip of one. From an archive, the
/// largest file is read; the others hold labels.
///
/// Pictures are not decoded here. The page decodes them (for a zip, its
/// [`zip_entries`](super::zip_entries)) and passes them to a [`Builder`](super::Builder); natively
/// `read` does.
pub fn import(name: &str, bytes: &[u8], options: &Options) -> Result<Dataset> {
    check_size(bytes)?;
    let mut set = match detect(name, bytes) {
        Some(Format::Gzip) => {
            let inner = name.strip_suffix(".gz").unwrap_or(name);
            import_plain(inner, &archive::gunzip(bytes)?, options)?
        }
        Some(Format::Zip) => {
            let entries = archive::zip_entries(bytes)?;
            let Some(largest) = entries.iter().max_by_key(|entry| entry.size()) else {
                return Err(Error::bad_input("The archive is empty", "Choose another one"));
            };
            if largest.is_picture() {
                return Err(pictures());
            }
            import_plain(&largest.name(), &largest.read()?, options)?
        }
        _ => import_plain(name, bytes, options)?,
    };
    set.about.set = short_name(name, bytes).to_owned();
    Ok(set)
}

/// A file's name without its folder, and for a shipped set also without its extension.
fn short_name<'a>(path: &'a str, bytes: &[u8]) -> &'a str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    if bytes.starts_with(packed::MAGIC) { name.strip_suffix(".bin").unwrap_or(name) } else { name }
}

fn import_plain(name: &str, bytes: &[u8], options: &Options) -> Result<Dataset> {
    check_size(bytes)?;
    match detect(name, bytes) {
        Some(Format::Npy) => npy::import(name, bytes, options),
        Some(Format::Packed) => shipped::import(bytes, options),
        Some(Format::Idx) => idx::import(name, bytes, options),
        Some(Format::Cifar) => cifar::import(name, bytes, options),
        Some(Format::Picture) => Err(pictures()),
        Some(Format::Tar) => Err(Error::bad_input(
            "The file is a tar archive",
            "Unpack it and choose one of its files, such as data_batch_1.bin",
        )),
        Some(Format::Gzip | Format::Zip) => Err(Error::bad_input(
            "The archive holds another archive",
            "Unpack it once and choose the inner file",
        )),
        None => Err(wrong_magic("any format that this program reads")),
    }
}

fn check_size(bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() {
        return Err(Error::bad_input("The file is empty", "Choose another one"));
    }
    if bytes.len() > MAX_BYTES {
        let (need, have) = (bytes.len() as u64, MAX_BYTES as u64);
        return Err(Error::limit("File size in bytes", need, have, "Choose a smaller file"));
    }
    Ok(())
}

fn pictures() -> Error {
    Error::bad_input("Pictures must be decoded before they are imported", "Drop them on the page")
}
