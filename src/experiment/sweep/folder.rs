//! The folder of a plan, which machines may share: the names of its files, and how they are written so that
//! a reader, or a crash, never sees half of one. It uses no locks and no mapped memory, which network file
//! systems handle badly.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::{Checkpoint, Plan, ShardResult};
use crate::error::{Error, Result};

/// A plan and its folder.
#[derive(Debug)]
pub struct Folder {
    /// The plan.
    pub plan: Plan,
    path: PathBuf,
}

impl Folder {
    /// Opens the folder of the plan at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| file_error(path, &error))?;
        let folder = path.parent().filter(|parent| *parent != Path::new(""));
        let path = folder.unwrap_or(Path::new(".")).to_owned();
        Ok(Self { plan: Plan::parse(&text)?, path })
    }

    /// Writes `plan` into `folder`, unless that contains another plan.
    pub fn create(folder: &Path, plan: Plan) -> Result<Self> {
        let path = plan_path(folder);
        if path.exists() {
            let there = Self::open(&path).ok().map(|there| there.plan.hash);
            if there.as_deref() != Some(&plan.hash) {
                return Err(Error::bad_input(
                    format!("{} contains another plan", path.display()),
                    "Choose another folder, or remove this one with its results",
                ));
            }
        } else {
            write(&path, plan.to_json()?.as_bytes()).map_err(|error| file_error(&path, &error))?;
        }
        Ok(Self { plan, path: folder.to_owned() })
    }

    /// Path of the plan's file.
    pub fn plan_path(&self) -> PathBuf {
        plan_path(&self.path)
    }

    /// Path of a file of shard `index`.
    fn shard_path(&self, index: usize, kind: &str) -> PathBuf {
        self.path.join("shards").join(format!("{index:05}.{kind}"))
    }

    /// Path of a shard's result, once it is done.
    pub fn result_path(&self, index: usize) -> PathBuf {
        self.shard_path(index, "json")
    }

    /// Path of a shard's checkpoint.
    pub fn checkpoint_path(&self, index: usize) -> PathBuf {
        self.shard_path(index, "checkpoint")
    }

    /// Path of a shard's progress.
    pub fn progress_path(&self, index: usize) -> PathBuf {
        self.shard_path(index, "progress")
    }

    /// Reads the result of a shard, if it is done.
    pub fn result(&self, index: usize) -> Result<Option<ShardResult>> {
        let path = self.result_path(index);
        let parse = |bytes: Vec<u8>| ShardResult::parse(&bytes, &self.plan, index);
        read(&path)?.map(parse).transpose().map_err(|error| at(&path, &error))
    }

    /// Reads the checkpoint of a shard, if there is one.
    pub fn checkpoint(&self, index: usize) -> Result<Option<Checkpoint>> {
        let path = self.checkpoint_path(index);
        let parse = |bytes: Vec<u8>| Checkpoint::from_bytes(&bytes, &self.plan, index);
        read(&path)?.map(parse).transpose().map_err(|error| at(&path, &error))
    }

    /// Removes the remnants of interrupted attempts to write files of shard `index`. A process that is writing
    /// one at this moment fails, and tries again later.
    pub fn remove_remnants(&self, index: usize) {
        let entries = fs::read_dir(self.path.join("shards")).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(&format!(".{index:05}.")) && name.ends_with(REMNANT) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn file_error(path: &Path, error: &io::Error) -> Error {
    Error::bad_input(format!("{}: {error}", path.display()), "")
}

fn plan_path(folder: &Path) -> PathBuf {
    folder.join("plan.json")
}

/// Adds the path to an error about the content of a file.
pub fn at(path: &Path, error: &Error) -> Error {
    let message = format!("{}: {}", path.display(), error.message);
    Error::new(error.kind.clone(), message, error.hint.clone())
}

fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(path, &error)),
    }
}

/// The suffix of a file while it is written.
const REMNANT: &str = ".part";

/// Writes a file beside its place, and renames it once the disk has all of it. If that fails, the previous
/// file remains.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Two processes, perhaps on two machines, may write the same file at the same time.
    let part = folder.join(format!(".{name}.{}.{:08x}{REMNANT}", std::process::id(), random()));
    let written = write_new(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    // The new name must reach the disk, too. Not every file system supports or needs this.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    written
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A number that differs from process to process.
fn random() -> u32 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_as_a_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("hidden-gaussian-files-{}", random()));
        let path = folder.join("a/b.json");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.join("a")).unwrap().count(), 1);
        // A folder in the file's place cannot be replaced.
        fs::create_dir_all(folder.join("a/c/d")).unwrap();
        assert!(write(&folder.join("a/c"), b"three").is_err());
        assert_eq!(fs::read_dir(folder.join("a")).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
