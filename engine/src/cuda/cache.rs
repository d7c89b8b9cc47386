//! Compiled kernels on disk. An entry is code that will run, so nothing is trusted that others could have written.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::cuda::nvrtc::Image;
use crate::cuda::text::Key;

const MAGIC: &[u8; 8] = b"RFCODE01";
/// Nothing that this crate writes is larger.
const MOST_BYTES: u64 = 256 << 20;

/// A compiled kernel in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) image: Image,
    /// Version of the compiler: told, but not compared, so that a shipped cache serves a machine without one.
    pub(crate) compiler: String,
}

/// A folder of compiled kernels, one file for each key.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache that the environment names: `RINGFORGE_CACHE_DIR`, or `ringforge` in the user's cache folder.
    /// None with `RINGFORGE_CACHE=off`, or where the folder cannot be made or trusted.
    pub(crate) fn from_environment() -> Option<Self> {
        let folder = folder_from(|name| std::env::var_os(name).filter(|value| !value.is_empty()))?;
        match Self::at(&folder) {
            Ok(cache) => Some(cache),
            Err(error) => {
                log::warn!("kernels are not cached in {}: {error}", folder.display());
                None
            }
        }
    }

    /// The cache in this folder, which is made if it is not there.
    ///
    /// # Errors
    /// Where it cannot be made, or others could write to it.
    pub(crate) fn at(folder: &Path) -> io::Result<Self> {
        if !folder.exists() {
            make_private(folder)?;
        }
        // links are followed once and for all
        let folder = folder.canonicalize()?;
        let about = fs::metadata(&folder)?;
        if !about.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "is no folder"));
        }
        check_owner(&about)?;
        Ok(Self { folder })
    }

    /// The entry of a key, if there is a sound one.
    pub(crate) fn load(&self, key: &Key) -> Option<Entry> {
        let path = self.path(key);
        match read_trusted(&path) {
            Ok(bytes) => {
                let entry = decode(&bytes, key);
                if entry.is_none() {
                    log::warn!("{} is damaged and is not used", path.display());
                }
                entry
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                log::warn!("{} is not used: {error}", path.display());
                None
            }
        }
    }

    /// Keeps an entry, in place of what was there. A failure is logged and harms nothing.
    pub(crate) fn store(&self, key: &Key, entry: &Entry) {
        if let Err(error) = self.write(key, entry) {
            log::warn!("a kernel was not cached in {}: {error}", self.folder.display());
        }
    }

    fn write(&self, key: &Key, entry: &Entry) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = self.path(key);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
        // readers see the old file or the whole new one
        let written = create_private(&temporary)
            .and_then(|mut file| file.write_all(&encode(key, entry)))
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name: String = key.0.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name + ".bin")
    }
}

fn folder_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let switch = variable("RINGFORGE_CACHE").unwrap_or_default();
    if ["off", "0", "no"].iter().any(|off| switch.eq_ignore_ascii_case(off)) {
        return None;
    }
    if let Some(folder) = variable("RINGFORGE_CACHE_DIR") {
        return Some(folder.into());
    }
    let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
    let base = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA")).map(PathBuf::from).or_else(home)?;
    base.is_absolute().then(|| base.join("ringforge"))
}

/// Magic, key, SHA-256 of the rest, kind, length and text of the compiler's version, length of the image, image.
fn encode(key: &Key, entry: &Entry) -> Vec<u8> {
    let image = entry.image.bytes();
    let mut rest = vec![u8::from(matches!(entry.image, Image::Ptx(_)))];
    rest.extend((entry.compiler.len() as u64).to_le_bytes());
    rest.extend(entry.compiler.as_bytes());
    rest.extend((image.len() as u64).to_le_bytes());
    rest.extend(image);
    [&MAGIC[..], &key.0, &Sha256::digest(&rest)[..], &rest].concat()
}

fn decode(bytes: &[u8], key: &Key) -> Option<Entry> {
    let bytes = bytes.strip_prefix(MAGIC)?.strip_prefix(&key.0)?;
    let (hash, rest) = bytes.split_at_checked(32)?;
    if hash != &Sha256::digest(rest)[..] {
        return None;
    }
    let (kind, rest) = rest.split_first()?;
    let (compiler, rest) = counted(rest)?;
    let (image, rest) = counted(rest)?;
    if image.is_empty() || !rest.is_empty() {
        return None;
    }
    let image = match kind {
        0 => Image::Cubin(image.into()),
        1 if image.last() == Some(&0) => Image::Ptx(image.into()),
        _ => return None,
    };
    Some(Entry { image, compiler: String::from_utf8(compiler.into()).ok()? })
}

fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*count)).ok()?)
}

fn read_trusted(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    check_owner(&about)?;
    if !about.is_file() || about.len() > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "is no file of the cache"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(unix)]
fn check_owner(about: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    // SAFETY: the C library's function of this signature; uid_t has 32 bits on every system that Rust's `uid()` serves.
    unsafe extern "C" {
        safe fn geteuid() -> u32;
    }
    let refuse = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    // root may do anything anyway, and may have shipped the cache
    if about.uid() != geteuid() && about.uid() != 0 {
        return refuse("belongs to another user");
    }
    if about.mode() & 0o022 != 0 {
        return refuse("can be written by others");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_: &fs::Metadata) -> io::Result<()> {
    // the user's own cache folder is private there
    Ok(())
}

fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // another process was faster
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        outcome => outcome,
    }
}

fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
