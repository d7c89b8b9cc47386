//! Folders of compiled code. The code will be executed, so files that another user could have written are refused. When
//! a folder is full, its least recently used entries are removed.

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
/// Name of the cache of CUDA sources that the test emulator compiled for the CPU.
#[cfg(feature = "testkit")]
pub const SOURCE: &str = "text";

/// File extension of entries. It distinguishes them from other files in the folder.
const ENDING: &str = ".ringforge";
/// Prefix of the names of unfinished entries.
const UNFINISHED: &str = ".unfinished-";
/// An unfinished entry older than this was left by a process that ended.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// An entry used within this time may still be in use, so it is never evicted.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// Default bound on a folder's size, in MiB.
const MOST_MIB: u64 = 1024;

/// A folder of compiled code: `kernels` holds code for GPUs, `text` holds CPU programs that run the kernels' CUDA
/// source in tests.
///
/// The folders are in `RINGFORGE_CACHE_DIR`, or in `ringforge` in the user's cache folder. A folder that another user
/// could write to is not used, nor is an entry of another user except root. When an entry is added, the least recently
/// used ones are removed until the rest is within the bound. Entries used in the last ten minutes always stay.
#[derive(Debug, Clone)]
pub struct Cache {
    name: &'static str,
    folder: PathBuf,
    most_bytes: u64,
}

/// Checks a file of compiled code outside of these folders and returns its canonical path. The file, and every folder
/// and link on the way to it, must belong to this user or root.
#[cfg(feature = "cuda")]
pub(crate) fn check_single(file: &Path) -> io::Result<PathBuf> {
    trust::check_single(file)
}

/// An entry, finished or not, found in the folder.
struct Found {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
    is_finished: bool,
}

impl Cache {
    /// The caches that this build uses in this environment. Their folders may not exist yet.
    ///
    /// # Errors
    /// [`Error::File`] if the environment names no folder and the user has no cache folder.
    pub fn all() -> Result<Vec<Self>> {
        let names: &[&str] = &[
            #[cfg(feature = "cuda")]
            KERNELS,
            #[cfg(feature = "testkit")]
            SOURCE,
        ];
        names.iter().map(|name| Self::from_environment(name)).collect()
    }

    /// The cache of this name, in the folder that the environment selects.
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

    /// The folder's path.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bound on the total size of its entries, in bytes: `RINGFORGE_CACHE_MIB`, else 1 GiB.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// The number of entries and their total size in bytes. Both are 0 if the folder does not exist.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read or trusted.
    pub fn usage(&self) -> Result<(usize, u64)> {
        let found = self.found().map_err(|error| self.failed(error))?;
        let finished = found.iter().filter(|found| found.is_finished);
        Ok((finished.clone().count(), finished.map(|found| found.bytes).sum()))
    }

    /// Removes all entries. Other files in the folder, and entries that other processes are writing, stay.
    ///
    /// # Errors
    /// [`Error::File`] if the folder cannot be read, written or trusted.
    pub fn clear(&self) -> Result<()> {
        let is_done = |found: &&Found| found.is_finished || found.age() > ABANDONED;
        let remove = || self.found()?.iter().filter(is_done).try_for_each(Found::remove);
        remove().map_err(|error| self.failed(error))
    }

    /// Wraps an I/O error of this folder.
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        Error::file(self.folder.display(), error)
    }

    /// Creates the folder if it does not exist. Returns its checked path.
    pub(crate) fn open(&self) -> io::Result<PathBuf> {
        trust::make_folder(&self.folder)?;
        self.trusted()?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The path of the entry of this name, if it exists. The entry counts as used now.
    #[doc(hidden)]
    pub fn find(&self, name: &str) -> io::Result<Option<PathBuf>> {
        let Some(folder) = self.trusted()? else { return Ok(None) };
        let path = folder.join(name.to_owned() + ENDING);
        match trust::check_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            checked => checked?,
        }
        // an entry that root installed keeps its time, as this user cannot change it
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(path))
    }

    /// Names of entries with this prefix, most recently used first.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn names(&self, start: &str) -> io::Result<Vec<String>> {
        let mut found = self.found()?;
        found.sort_by_key(|found| std::cmp::Reverse(found.used));
        let names = found.iter().filter_map(|found| found.path.file_name()?.to_str()?.strip_suffix(ENDING));
        Ok(names.filter(|name| name.starts_with(start)).map(str::to_owned).collect())
    }

    /// Adds an entry, replacing any of the same name, and evicts the least recently used ones if the folder is full.
    /// `make` writes the file into a temporary folder and returns its path.
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
        // atomic: other processes see the old file or the whole new one
        fs::rename(made, &path)?;
        if let Err(error) = self.shrink(&path) {
            log::warn!("the cache folder {} may exceed its size limit: {error}", self.folder.display());
        }
        Ok(path)
    }

    /// Removes the least recently used entries except `kept`, until the rest is within the bound. Also removes
    /// abandoned ones.
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

    /// All entries, finished and unfinished.
    fn found(&self) -> io::Result<Vec<Found>> {
        let Some(folder) = self.trusted()? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            // another process may have removed it by now
            let Ok(about) = entry.metadata() else { continue };
            let is_finished = about.is_file() && name.ends_with(ENDING);
            if is_finished || about.is_dir() && name.starts_with(UNFINISHED) {
                let bytes = if is_finished { about.len() } else { 0 };
                all.push(Found { used: about.modified()?, bytes, path: entry.path(), is_finished });
            }
        }
        Ok(all)
    }

    /// The canonical path of the folder, once every part of it is known to belong to this user or root. `None` if it
    /// does not exist.
    fn trusted(&self) -> io::Result<Option<PathBuf>> {
        match trust::check_folder(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            checked => checked.map(Some),
        }
    }
}

impl Found {
    /// Time since the last use; zero if the clock was set back since.
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
    // `Library/Caches` on macOS, `AppData\Local` on Windows
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
