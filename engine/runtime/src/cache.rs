//! Folders of compiled code. It will run, so nothing is used that another user could have written; and what was not used
//! for longest goes where a folder is full.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, io};

use etcetera::BaseStrategy;

use ringforge_math::error::{Error, Result};

mod trust;

/// The cache of what GPUs run.
#[cfg(feature = "cuda")]
pub(crate) const KERNELS: &str = "kernels";
/// The cache of kernels' text made into programs for the CPU.
#[cfg(feature = "testkit")]
pub const TEXT: &str = "text";

/// What the names of entries end with, and nothing else that might lie in such a folder.
const ENDING: &str = ".ringforge";
/// What the names of unfinished entries begin with.
const UNFINISHED: &str = ".unfinished-";
/// After this long, an unfinished entry is one of a process that was ended.
const ABANDONED: Duration = Duration::from_secs(24 * 60 * 60);
/// What was used so lately may still be in use: it stays, whatever the bound.
const LATELY: Duration = Duration::from_secs(10 * 60);
/// Most that a folder holds if the environment does not say, in MiB.
const MOST_MIB: u64 = 1024;

/// A folder of compiled code: `kernels` of GPUs, or the programs that run kernels' `text` in tests.
///
/// They lie in `RINGFORGE_CACHE_DIR`, or in `ringforge` in the user's cache folder. A folder that another user could write
/// to is not used, nor is an entry of another user but root. When something new is kept, what was not used for longest goes
/// until the rest is within the bound, but nothing that was used in the last ten minutes.
#[derive(Debug, Clone)]
pub struct Cache {
    name: &'static str,
    folder: PathBuf,
    most_bytes: u64,
}

/// The path without links of a file of compiled code outside of these folders, once it and all on the way to it are this
/// user's or root's.
#[cfg(feature = "cuda")]
pub(crate) fn check_single(file: &Path) -> io::Result<PathBuf> {
    trust::check_single(file)
}

/// Something in the folder that this module made.
struct Found {
    used: SystemTime,
    bytes: u64,
    path: PathBuf,
    is_finished: bool,
}

impl Cache {
    /// The caches that this build uses in this environment, whether their folders are there or not.
    ///
    /// # Errors
    /// [`Error::File`] where the environment names no folder, and the user has none for caches.
    pub fn all() -> Result<Vec<Self>> {
        let names: &[&str] = &[
            #[cfg(feature = "cuda")]
            KERNELS,
            #[cfg(feature = "testkit")]
            TEXT,
        ];
        names.iter().map(|name| Self::from_environment(name)).collect()
    }

    /// The cache of this name, where the environment says.
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

    /// What it has: `kernels` or `text`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where it lies.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Bytes that its entries may have together: `RINGFORGE_CACHE_MIB`, else 1 GiB.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// How many entries it has, and their bytes together: none where its folder is not there.
    ///
    /// # Errors
    /// [`Error::File`] where the folder cannot be read or trusted.
    pub fn usage(&self) -> Result<(usize, u64)> {
        let found = self.found().map_err(|error| self.failed(error))?;
        let finished = found.iter().filter(|found| found.is_finished);
        Ok((finished.clone().count(), finished.map(|found| found.bytes).sum()))
    }

    /// Removes all entries, and nothing else that lies in the folder: what other processes are about to make stays.
    ///
    /// # Errors
    /// [`Error::File`] where the folder cannot be read, written or trusted.
    pub fn clear(&self) -> Result<()> {
        let is_done = |found: &&Found| found.is_finished || found.age() > ABANDONED;
        let remove = || self.found()?.iter().filter(is_done).try_for_each(Found::remove);
        remove().map_err(|error| self.failed(error))
    }

    /// An error of this folder.
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        Error::file(self.folder.display(), error)
    }

    /// Makes the folder if it is not there.
    pub(crate) fn open(&self) -> io::Result<PathBuf> {
        trust::make_folder(&self.folder)?;
        self.trusted()?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The entry of this name, if there is one; it counts as used now.
    #[doc(hidden)]
    pub fn find(&self, name: &str) -> io::Result<Option<PathBuf>> {
        let Some(folder) = self.trusted()? else { return Ok(None) };
        let path = folder.join(name.to_owned() + ENDING);
        match trust::check_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            checked => checked?,
        }
        // one that root has shipped keeps its time
        let _ = File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        Ok(Some(path))
    }

    /// Names of entries that begin with this, those used last first.
    #[cfg(any(feature = "cuda", test))]
    pub(crate) fn names(&self, start: &str) -> io::Result<Vec<String>> {
        let mut found = self.found()?;
        found.sort_by_key(|found| std::cmp::Reverse(found.used));
        let names = found.iter().filter_map(|found| found.path.file_name()?.to_str()?.strip_suffix(ENDING));
        Ok(names.filter(|name| name.starts_with(start)).map(str::to_owned).collect())
    }

    /// Keeps the file that `make` makes in a folder of its own, in place of what had this name, and drops what was not
    /// used for longest where the folder is full.
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
        // others see the old file or the whole new one
        fs::rename(made, &path)?;
        if let Err(error) = self.shrink(&path) {
            log::warn!("{} may be over its bound: {error}", self.folder.display());
        }
        Ok(path)
    }

    /// Drops what was not used for longest, but for this one, until the rest is within bounds.
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

    /// Entries, and what is unfinished.
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

    /// The folder without links, once all on the way to it is this user's or root's; none if it is not there.
    fn trusted(&self) -> io::Result<Option<PathBuf>> {
        match trust::check_folder(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            checked => checked.map(Some),
        }
    }
}

impl Found {
    /// How long ago it was used; no time where the clock was set back since.
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
    let none = |_| Error::file("the user's cache folder", "there is none; RINGFORGE_CACHE_DIR names another");
    strategy.map(|strategy| strategy.cache_dir().join("ringforge")).map_err(none)
}

fn most_bytes(variable: Option<OsString>) -> u64 {
    let mib = variable.and_then(|text| {
        let number = text.to_str().and_then(|text| text.parse::<u64>().ok());
        if number.is_none() {
            log::warn!("RINGFORGE_CACHE_MIB={} is no number: it is {MOST_MIB}", text.display());
        }
        number
    });
    mib.unwrap_or(MOST_MIB).saturating_mul(1 << 20)
}

#[cfg(test)]
mod tests;
