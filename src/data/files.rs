//! Sets on this machine's disk: files that [`import()`] reads, folders and archives of pictures.
//!
//! A picture gives the same pixels as in a page: `hidden-gaussian-pictures` decodes it there, too, and the
//! same [`Builder`] makes it smaller.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use hidden_gaussian_pictures::decode;
use rayon::prelude::*;

use super::archive::{Entry, zip_entries};
use super::cifar10::{LICENCE, RECORD, SOURCE, TRAIN, fetch};
use super::import::{MAX_BYTES, import, is_picture};
use super::{Builder, CIFAR10, Dataset, Format, Labels, Options, Picture, cifar, detect};
use crate::error::{Error, Result};

/// Reads CIFAR-10 from the user's cache: its 50,000 training images, with its 10,000 test images.
pub fn cifar10(options: &Options) -> Result<Dataset> {
    let records =
        fetch::read().map_err(|problem| Error::bad_input(problem.message, problem.hint))?;
    let (train, test) = records.split_at(TRAIN * RECORD);
    let mut set = cifar::import("CIFAR-10", train, options)?;
    set.about.set = CIFAR10.into();
    set.about.source = SOURCE.into();
    set.about.licence = LICENCE.into();
    set.with_test(cifar::import("CIFAR-10", test, options)?)
}

/// Pictures that a thread decodes at a time.
const PIECE: usize = 64;

/// Reads a data set from `path`: any file that [`import()`] reads, a picture, or a folder or zip archive of
/// pictures.
///
/// Pictures are ordered by path; hidden ones are skipped. If they lie in several folders, the folders are
/// their classes.
pub fn read(path: &Path, options: &Options) -> Result<Dataset> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    if metadata(path)?.is_dir() {
        let mut names = Vec::new();
        list(path, "", &mut names)?;
        return pictures(&name, names, options, |name| read_file(&path.join(name)));
    }
    let bytes = read_file(path)?;
    match detect(&name, &bytes) {
        Some(Format::Picture) => {
            pictures(&name, vec![name.clone().into_owned()], options, |_| Ok(bytes.clone()))
        }
        Some(Format::Zip) => {
            let entries = zip_entries(&bytes)?;
            let largest = entries.iter().max_by_key(|entry| entry.size());
            if !largest.is_some_and(Entry::is_picture) {
                return import(&name, &bytes, options);
            }
            let named: HashMap<String, &Entry<'_>> =
                entries.iter().map(|entry| (entry.name(), entry)).collect();
            let names = named.keys().cloned().collect();
            pictures(&name, names, options, |name| named[name].read())
        }
        _ => import(&name, &bytes, options),
    }
}

fn metadata(path: &Path) -> Result<fs::Metadata> {
    fs::metadata(path).map_err(|error| file_error(path, &error))
}

fn read_file(path: &Path) -> Result<Vec<u8>> {
    let size = metadata(path)?.len();
    if size > MAX_BYTES as u64 {
        return Err(Error::limit(
            "File size in bytes",
            size,
            MAX_BYTES as u64,
            "Choose a smaller file",
        ));
    }
    fs::read(path).map_err(|error| file_error(path, &error))
}

fn file_error(path: &Path, error: &std::io::Error) -> Error {
    Error::bad_input(
        format!("{}: {error}", path.display()),
        "Name a file, a folder of pictures, or one of the sets that come with this program",
    )
}

/// Lists the files under `folder` by their relative paths.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(|error| file_error(folder, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| file_error(folder, &error))?;
        let kind = entry.file_type().map_err(|error| file_error(&entry.path(), &error))?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        // A link to a folder could form a cycle.
        if kind.is_dir() && !is_hidden(&name) {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else if !kind.is_dir() {
            names.push(name);
        }
    }
    Ok(())
}

/// Whether a file, or a folder that contains it, begins with a dot or belongs to macOS.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.') || part == "__MACOSX")
}

/// Creates a set of the pictures among `files`.
fn pictures(
    name: &str,
    mut files: Vec<String>,
    options: &Options,
    read: impl Fn(&str) -> Result<Vec<u8>> + Sync,
) -> Result<Dataset> {
    files.retain(|path| !is_hidden(path));
    let all = files.len();
    files.retain(|path| is_picture(path));
    files.sort_unstable();
    let mut builder = Builder::new(name, options);
    if files.len() < all {
        builder.note(&format!("Skipped files that are not pictures: {}.", all - files.len()));
    }
    let chosen: Vec<&str> = builder.choose(files.len()).map(|i| files[i].as_str()).collect();
    let push = |builder: &mut Builder, name: &str| {
        push(builder, &read(name)?).map_err(|error| {
            Error::new(error.kind.clone(), format!("{name}: {}", error.message), error.hint.clone())
        })
    };
    let Some((first, rest)) = chosen.split_first() else {
        return Err(Error::bad_input(
            format!("{name} holds no pictures"),
            "Choose a folder or a zip archive of PNG, JPEG or WebP files",
        ));
    };
    // The first picture determines the shape of all.
    push(&mut builder, first)?;
    let pieces: Vec<Builder> = rest
        .par_chunks(PIECE)
        .map(|piece| {
            let mut builder = builder.like();
            piece.iter().try_for_each(|name| push(&mut builder, name)).map(|()| builder)
        })
        .collect::<Result<_>>()?;
    pieces.iter().for_each(|piece| builder.append(piece));
    let set = builder.finish()?;
    match classes(&chosen)? {
        Some(labels) => set.with_labels(labels),
        None => Ok(set),
    }
}

fn push(builder: &mut Builder, bytes: &[u8]) -> Result<()> {
    let picture = decode(bytes).map_err(|problem| {
        Error::bad_input(
            format!("the picture can't be decoded: {problem}"),
            "Remove it, or save it again as PNG, JPEG or WebP",
        )
    })?;
    let (width, height) = (picture.width, picture.height);
    builder.push_picture(Picture { width, height, rgba: &picture.rgba })
}

/// The classes of pictures in several folders.
fn classes(paths: &[&str]) -> Result<Option<Labels>> {
    let folder = |path: &&str| path.rsplit('/').nth(1).map(str::to_owned);
    let Some(folders) = paths.iter().map(folder).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let mut names = folders.clone();
    names.sort_unstable();
    names.dedup();
    if names.len() < 2 || names.len() > 256 {
        return Ok(None);
    }
    let class = |folder| names.binary_search(folder).unwrap_or_default() as u8;
    let classes = folders.iter().map(class).collect();
    Labels::new(names, classes).map(Some)
}
