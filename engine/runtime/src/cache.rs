//! Cache folders of compiled code. The code will be executed, so files that another user could have written are
//! rejected. When a folder is full, its least recently used entries are removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, io};

use etcetera::BaseStrategy;

use ringforge_math::error::{Error, Result};

mod trust;

/// Name of the cache of compiled GPU kernels.
#[cfg(feature = "cuda")]
pub(crate) const KERNELS: &str = "kernels";
/// Name of the cache of programs that the test emulator runs: kernels' CUDA sources, compiled for the CPU.
#[cfg(feature = "testkit")]
pub const SOURCE: &str = "text";

/// File name extension of cache entries, which distinguishes them from other files in the folder.
const ENDING: &str = ".ringforge";
/// Name prefix of the temporary folders in which new entries are written.
const UNFINISHED: &str = ".unfinished-";
/// A temporary folder older than this was left behind by a process that ended.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// An entry used within this time may still be in use, so it is never evicted.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// Default limit on the size of a cache folder, in MiB.
const MOST_MIB: u64 = 1024;

/// A folder of compiled code: `kernels` holds code for GPUs, `text` holds CPU programs that run the kernels' CUDA
/// source in tests.
///
/// The folders are inside `RINGFORGE_CACHE_DIR`, or, if that variable is not set, inside `ringforge` in the user's
/// cache folder. A folder or entry that another user (except root) owns or could write to is an error. Adding an entry
/// removes the least recently used ones until the rest is within the size limit. Entries used in the last ten minutes
/// are kept even beyond that limit.
#[derive(Debug, Clone)]
pub struct Cache {
    name: &'static str,
    folder: PathBuf,
    most_bytes: u64,
}

/// Checks a file of compiled code outside of the cache folders and returns its canonical path. The file, and every
/// folder and link on its path, must belong to this user or root, and no other user may be able to write to them.
#[cfg(feature = "cuda")]
pub(crate) fn check_single(file: &Path) -> io::Result<PathBuf> {
    trust::check_single(file)
}

/// A finished entry, or the temporary folder of an unfinished one, found in the cache folder.
struct Found {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
    is_finished: bool,
}

impl Cache {
    /// Returns the caches that this build uses, with folders that the environment variables select. The folders may not
    /// exist yet.
    ///
    /// # Errors
    /// [`Error::File`] if `RINGFORGE_CACHE_DIR` is not set and the user has no cache folder.
    pub fn all() -> Result<Vec<Self>> {
        let names: &[&str] = &[
            #[cfg(feature = "cuda")]
            KERNELS,
            #[cfg(feature = "testkit")]
            SOURCE,
        ];
        names.iter().map(|name| Self::from_environment(name)).collect()
    }

    /// The cache with this name, in the folder that the environment variables select.
    #[doc(hidden)]
    pub fn from_environment(name: &'static str) -> Result<Self> {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let base = variable("RINGFORGE_CACHE_DIR").map_or_else(user_folder, |folder| Ok(folder.into()))?;
        Ok(Self { name, folder: base.join(name), most_bytes: most_bytes(variable("RINGFORGE_CACHE_MIB")) })
    }

    #[cfg(any(test, feature = "testkit"))]
    #[doc(hidden)]
    pub fn at(folder: &Path, most_bytes: u64) -> Self {
        Self { name: "test", folder: folder.into(), most_bytes }
    }

    /// The cache's name: `kernels` or `text`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The path of the cache folder. The folder may not exist yet.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Limit on the total size of the entries, in bytes: `RINGFORGE_CACHE_MIB` MiB, or 1 GiB if that variable is not
    /// set.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// The number of entries and their total size in bytes. Both are 0 if the folder does not exist.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read, or if another user could write to it.
    pub fn usage(&self) -> Result<(usize, u64)> {
        let found = self.found().map_err(|error| self.failed(error))?;
        let finished = found.iter().filter(|found| found.is_finished);
        Ok((finished.clone().count(), finished.map(|found| found.bytes).sum()))
    }

    /// Removes all entries, and temporary folders older than a day. Other files in the folder stay, and so do entries
    /// that other processes are writing.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read or written, or if another user could write to it.
    pub fn clear(&self) -> Result<()> {
        let is_done = |found: &&Found| found.is_finished || found.age() > ABANDONED;
        let remove = || self.found()?.iter().filter(is_done).try_for_each(Found::remove);
        remove().map_err(|error| self.failed(error))
    }

    /// Converts an I/O error of this folder to an [`Error::File`] with the folder's path.
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        Error::file(self.folder.display(), error)
    }

    /// Creates the folder if it does not exist, and checks that no other user can write to it. Returns its canonical
    /// path.
    pub(crate) fn open(&self) -> io::Result<PathBuf> {
        trust::make_folder(&self.folder)?;
        self.trusted()?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Returns the path of the entry with this name, if it exists, and sets the entry's time of last use to now. Fails
    /// if another user could have written the entry.
    #[doc(hidden)]
    pub fn find(&self, name: &str) -> io::Result<Option<PathBuf>> {
        let Some(folder) = self.trusted()? else { return Ok(None) };
        let path = folder.join(name.to_owned() + ENDING);
        match trust::check_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            checked => checked?,
        }
        // this fails for an entry that root installed, which keeps its time
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(path))
    }

    /// The names of the entries that begin with `start`, the most recently used first.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn names(&self, start: &str) -> io::Result<Vec<String>> {
        let mut found = self.found()?;
        found.sort_by_key(|found| std::cmp::Reverse(found.used));
        let names = found.iter().filter_map(|found| found.path.file_name()?.to_str()?.strip_suffix(ENDING));
        Ok(names.filter(|name| name.starts_with(start)).map(str::to_owned).collect())
    }

    /// Adds an entry, and replaces an existing one of the same name. Then evicts the least recently used entries if the
    /// folder exceeds its size limit. `make` is called with a temporary folder, writes the entry's file into it, and
    /// returns the file's path. Returns the path of the entry.
    #[doc(hidden)]
    pub fn keep<E: From<io::Error>>(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<PathBuf, E>,
    ) -> Result<PathBuf, E> {
        let folder = self.open()?;
        let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&folder)?;
        let made = make(work.path())?;
        trust::make_file_private(&made)?;
        let path = folder.join(name.to_owned() + ENDING);
        // renaming is atomic: other processes see either the old file or the complete new one
        fs::rename(made, &path)?;
        if let Err(error) = self.shrink(&path) {
            log::warn!("the cache folder {} may exceed its size limit: {error}", self.folder.display());
        }
        Ok(path)
    }

    /// Removes the least recently used entries, except `kept` and those in recent use, until the rest is within the
    /// size limit. Also removes abandoned temporary folders.
    fn shrink(&self, kept: &Path) -> io::Result<()> {
        let mut found = self.found()?;
        found.sort_by_key(|found| found.used);
        let mut bytes: u64 = found.iter().map(|found| found.bytes).sum();
        for old in found.iter().filter(|found| found.path != kept) {
            let goes =
                if old.is_finished { bytes > self.most_bytes && old.age() > LATELY } else { old.age() > ABANDONED };
            if goes {
                old.remove()?;
                bytes -= old.bytes;
            }
        }
        Ok(())
    }

    /// All entries, and the temporary folders of unfinished ones. Empty if the cache folder does not exist.
    fn found(&self) -> io::Result<Vec<Found>> {
        let Some(folder) = self.trusted()? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            // another process may have removed the file by now
            let Ok(about) = entry.metadata() else { continue };
            let is_finished = about.is_file() && name.ends_with(ENDING);
            if is_finished || about.is_dir() && name.starts_with(UNFINISHED) {
                let bytes = if is_finished { about.len() } else { 0 };
                all.push(Found { used: about.modified()?, bytes, path: entry.path(), is_finished });
            }
        }
        Ok(all)
    }

    /// Checks that only this user and root can write to the folder or replace it, and returns the folder's canonical
    /// path. Returns `None` if the folder does not exist.
    fn trusted(&self) -> io::Result<Option<PathBuf>> {
        match trust::check_folder(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            checked => checked.map(Some),
        }
    }
}

impl Found {
    /// Time since the last use, or zero if that is in the future because the clock was changed.
    fn age(&self) -> Duration {
        self.used.elapsed().unwrap_or_default()
    }

    fn remove(&self) -> io::Result<()> {
        let removed = if self.is_finished { fs::remove_file(&self.path) } else { fs::remove_dir_all(&self.path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn user_folder() -> Result<PathBuf> {
    // the system's usual cache folder, such as `Library/Caches` on macOS and `AppData\Local` on Windows
    let strategy = etcetera::base_strategy::choose_native_strategy();
    let none = |_| Error::file("the user's cache folder", "not found: set RINGFORGE_CACHE_DIR to a folder");
    strategy.map(|strategy| strategy.cache_dir().join("ringforge")).map_err(none)
}

fn most_bytes(variable: Option<OsString>) -> u64 {
    let mib = variable.and_then(|text| {
        let number = text.to_str().and_then(|text| text.parse::<u64>().ok());
        if number.is_none() {
            log::warn!("RINGFORGE_CACHE_MIB={} is not a number: using {MOST_MIB}", text.display());
        }
        number
    });
    mib.unwrap_or(MOST_MIB).saturating_mul(1 << 20)
}

#[cfg(test)]
mod tests;
