//! The cache of compiled kernels on disk: format and lookup of its entries.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::cache::{Cache, KERNELS};
use crate::cuda::nvrtc::Image;
use crate::cuda::text::Key;

const MAGIC: &[u8; 8] = b"RFCODE01";
/// Maximum size of an entry in bytes. Larger files, which this crate never writes, are rejected.
const MOST_BYTES: u64 = 256 << 20;

/// A compiled kernel in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) image: Image,
    /// Name and version of the compiler.
    pub(crate) compiler: String,
}

/// Opens the kernel cache that the environment variables select. Returns `None` with `RINGFORGE_CACHE=off`. Also
/// returns `None`, with a logged warning, if the folder cannot be created or another user could write to it.
pub(crate) fn from_environment() -> Option<Cache> {
    if is_off(&std::env::var("RINGFORGE_CACHE").unwrap_or_default()) {
        return None;
    }
    let opened = Cache::from_environment(KERNELS).and_then(|cache| match cache.open() {
        Ok(_) => Ok(cache),
        Err(error) => Err(cache.failed(error)),
    });
    opened.inspect_err(|error| log::warn!("kernels are not cached: {error}")).ok()
}

fn is_off(switch: &str) -> bool {
    ["off", "0", "no"].iter().any(|off| switch.eq_ignore_ascii_case(off))
}

/// The valid entries of a key (hash of source and options). If `compiler` names a compiler, only the entry made by it
/// is returned. With `None`, the entries of all compilers are returned, so that a cache can be shipped to machines
/// without NVRTC.
pub(crate) fn load(cache: &Cache, key: &Key, compiler: Option<&str>) -> impl Iterator<Item = Entry> {
    let names = match compiler {
        Some(compiler) => vec![name(key, compiler)],
        None => cache.names(&hex(key)).unwrap_or_else(|error| {
            log::warn!("cached kernels are not used: {}", cache.failed(error));
            Vec::new()
        }),
    };
    names.into_iter().filter_map(|entry| match read(cache, &entry) {
        Ok(Some(bytes)) => {
            let decoded = decode(&bytes, key).filter(|decoded| name(key, &decoded.compiler) == entry);
            if decoded.is_none() {
                log::warn!("{entry} in {} is damaged and is not used", cache.folder().display());
            }
            decoded
        }
        Ok(None) => None,
        Err(error) => {
            log::warn!("a cached kernel is not used: {error}");
            None
        }
    })
}

/// Stores an entry, and replaces an existing one with the same key and compiler. A failure is only logged.
pub(crate) fn store(cache: &Cache, key: &Key, entry: &Entry) {
    let write = |folder: &Path| {
        let file = folder.join("entry");
        fs::write(&file, encode(key, entry))?;
        io::Result::Ok(file)
    };
    if let Err(error) = cache.keep(&name(key, &entry.compiler), write) {
        log::warn!("a kernel was not cached: {}", cache.failed(error));
    }
}

fn hex(key: &Key) -> String {
    key.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of the entry for a key and a compiler, such as `0123…-NVRTC-13.0`.
fn name(key: &Key, compiler: &str) -> String {
    format!("{}-{}", hex(key), compiler.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-"))
}

fn read(cache: &Cache, name: &str) -> io::Result<Option<Vec<u8>>> {
    let Some(path) = cache.find(name)? else { return Ok(None) };
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Encodes an entry: magic, key, SHA-256 of the rest, kind of image, compiler, image. The compiler and the image are
/// each preceded by their length.
pub(super) fn encode(key: &Key, entry: &Entry) -> Vec<u8> {
    let image = entry.image.bytes();
    let mut rest = vec![u8::from(matches!(entry.image, Image::Ptx(_)))];
    rest.extend((entry.compiler.len() as u64).to_le_bytes());
    rest.extend(entry.compiler.as_bytes());
    rest.extend((image.len() as u64).to_le_bytes());
    rest.extend(image);
    [&MAGIC[..], &key.0, &Sha256::digest(&rest)[..], &rest].concat()
}

pub(super) fn decode(bytes: &[u8], key: &Key) -> Option<Entry> {
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

pub(super) fn counted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*count)).ok()?)
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
