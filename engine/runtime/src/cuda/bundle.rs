//! Kernel bundles: the compiled kernels of chosen plans in one file, for machines without NVRTC and for programs that
//! should not wait for compilation.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::cache::check_single;
use crate::cuda::cache::{Entry, counted, decode, encode};
use crate::cuda::nvrtc::{self, Image};
use crate::cuda::text::{Key, Unit};
use crate::limits::Limits;
use crate::plan::Plan;
use ringforge_math::error::{BundleFault, Error, Result};

const MAGIC: &[u8; 8] = b"RFBNDL01";
/// The crate's version, which a bundle contains. A bundle works only with the version that wrote it.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The environment variable that names a bundle file.
const VARIABLE: &str = "RINGFORGE_BUNDLE";
/// Maximum size of a bundle file in bytes. Larger files are rejected.
const MOST_BYTES: u64 = 4 << 30;

/// Compiled kernels of chosen plans, for one or more architectures. Make a bundle on a machine with NVRTC, where no GPU
/// is needed, and save it as one file. Use it with [`Device::use_bundle`](crate::Device::use_bundle), or set
/// `RINGFORGE_BUNDLE` to the file's path for all GPUs of a process. Kernels of a bundle are neither compiled nor looked
/// up in the cache.
///
/// ```no_run
/// use ringforge::cuda::Bundle;
/// use ringforge::{Job, Limits, Op, Planner, Ring};
///
/// # fn main() -> ringforge::Result<()> {
/// let ring: Ring = "3329:x^256+1".parse()?;
/// let mut bundle = Bundle::default();
/// for capability in [80, 90] {
///     let limits = Limits::of_capability(capability);
///     let plan = Planner::new(limits.clone()).plan(&Job::new(&ring, Op::Mul))?;
///     bundle.compile(&[plan], &limits)?;
/// }
/// bundle.save("kernels.bundle".as_ref())?;
/// // on another machine
/// let device = ringforge::Device::cuda(0)?;
/// device.use_bundle(&Bundle::load("kernels.bundle".as_ref())?)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Bundle {
    /// The file that the bundle was loaded from. `None` if it was made in this process.
    path: Option<String>,
    architectures: BTreeSet<u32>,
    kernels: BTreeMap<Key, Item>,
}

/// A kernel of a bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Item {
    capability: u32,
    name: String,
    entry: Arc<Entry>,
}

impl Bundle {
    /// Compiles all kernels of these plans, including those that compute tables, for a device with these limits, and
    /// adds them to the bundle. The plans must be for a GPU of this architecture; [`Limits::of_capability`] gives
    /// limits to plan with. These do not contain the GPU's memory size, on which plans of 256-bit transforms with
    /// tables of 4 GiB and more depend.
    ///
    /// # Errors
    /// [`Error::NoCompiler`] without NVRTC; [`Error::Compile`] if NVRTC rejects a source; [`Error::Unsupported`] if a
    /// kernel does not fit the device, the device is a CPU, or NVRTC does not know the architecture; [`Error::Kernel`]
    /// if a kernel's source or a header is malformed; [`Error::Driver`] if another call of NVRTC fails. After an error,
    /// the bundle is unchanged.
    pub fn compile(&mut self, plans: &[Plan], limits: &Limits) -> Result<()> {
        let unsupported = |job: &str, why: String| Error::Unsupported { job: job.into(), why };
        if limits.is_cpu() {
            return Err(unsupported("a kernel bundle", "only GPUs run compiled kernels".into()));
        }
        let mut units = BTreeMap::new();
        for kernel in plans.iter().flat_map(Plan::kernels_with_tables) {
            let unit = Unit::new(&*kernel, limits, false)?;
            units.insert(unit.key(), unit);
        }
        units.retain(|key, _| !self.kernels.contains_key(key));
        let compile = |(key, unit): (Key, Unit)| {
            let compiled = nvrtc::compile(&unit)?;
            if let Image::Ptx(_) = compiled.image {
                let why = format!(
                    "{} cannot generate machine code for sm_{}: use a newer NVRTC",
                    compiled.compiler, unit.capability
                );
                return Err(unsupported(&unit.entry, why));
            }
            let entry = Arc::new(Entry { image: compiled.image, compiler: compiled.compiler });
            Ok((key, Item { capability: unit.capability, name: unit.entry, entry }))
        };
        ringforge_cpu::threads::start();
        let compiled = units.into_par_iter().map(compile).collect::<Result<Vec<_>>>()?;
        self.kernels.extend(compiled);
        self.architectures.insert(limits.capability);
        Ok(())
    }

    /// Writes the bundle to a file, and replaces an existing file.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let write = || {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
            file.write_all(&self.to_bytes(VERSION))?;
            // other users may read the file: it contains no secrets
            #[cfg(unix)]
            std::fs::set_permissions(file.path(), std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
            file.persist(path).map_err(|error| error.error).map(drop)
        };
        write().map_err(|error: io::Error| Error::file(path.display(), error))
    }

    /// Reads a bundle from a file and checks every byte of it.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read, or if a user other than this one and root could have written or
    /// replaced it; [`Error::Bundle`] if the file is damaged, not a bundle, or written by another version of the crate.
    pub fn load(path: &Path) -> Result<Self> {
        let read = || {
            let mut bytes = Vec::new();
            File::open(check_single(path)?)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        let bytes = read().map_err(|error| Error::file(path.display(), error))?;
        let name = path.display().to_string();
        match Self::from_bytes(&bytes) {
            Ok(bundle) => Ok(Self { path: Some(name), ..bundle }),
            Err(fault) => Err(Error::Bundle { bundle: name, fault }),
        }
    }

    /// The architectures for which the bundle has kernels, as `10 * major + minor` of the compute capability,
    /// ascending.
    pub fn architectures(&self) -> impl Iterator<Item = u32> {
        self.architectures.iter().copied()
    }

    /// The names of the bundle's kernels for an architecture, in alphabetical order. A name occurs once for each
    /// variant of the kernel.
    #[must_use]
    pub fn kernels(&self, capability: u32) -> Vec<&str> {
        let items = self.kernels.values().filter(|item| item.capability == capability);
        let mut names: Vec<&str> = items.map(|item| &*item.name).collect();
        names.sort_unstable();
        names
    }

    /// Loads the bundle that `RINGFORGE_BUNDLE` names, and checks that it has kernels for this architecture. Returns
    /// `None` if the variable is not set.
    pub(super) fn from_environment(capability: u32) -> Result<Option<Self>> {
        let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else { return Ok(None) };
        let bundle = Self::load(path.as_ref())?;
        bundle.check_for(capability)?;
        Ok(Some(bundle))
    }

    /// Returns an error if the bundle has no kernels for this architecture.
    pub(super) fn check_for(&self, capability: u32) -> Result<()> {
        if self.architectures.contains(&capability) {
            return Ok(());
        }
        let fault = BundleFault::Architecture { found: self.architectures().collect(), needed: capability };
        Err(Error::Bundle { bundle: self.to_string(), fault })
    }

    /// The compiled kernel with this key (hash of source and options). `None` if the bundle lacks it.
    pub(super) fn image(&self, key: &Key) -> Option<Image> {
        self.kernels.get(key).map(|item| item.entry.image.clone())
    }

    /// Encodes the bundle as a file: magic, length of the head, SHA-256 of the head, head, entries. Entries are encoded
    /// as in the cache. The head holds the version, the architectures and the kernels, each list preceded by its
    /// length. For each kernel it holds the key, the architecture, the name (preceded by its length) and the length of
    /// the entry.
    fn to_bytes(&self, version: &str) -> Vec<u8> {
        let mut head = Vec::new();
        let count = |head: &mut Vec<u8>, count: usize| head.extend((count as u64).to_le_bytes());
        count(&mut head, version.len());
        head.extend(version.as_bytes());
        count(&mut head, self.architectures.len());
        self.architectures.iter().for_each(|capability| head.extend(capability.to_le_bytes()));
        count(&mut head, self.kernels.len());
        let mut entries = Vec::new();
        for (key, Item { capability, name, entry }) in &self.kernels {
            let entry = encode(key, entry);
            head.extend(key.0);
            head.extend(capability.to_le_bytes());
            count(&mut head, name.len());
            head.extend(name.as_bytes());
            count(&mut head, entry.len());
            entries.extend(entry);
        }
        let length = (head.len() as u64).to_le_bytes();
        [&MAGIC[..], &length, &Sha256::digest(&head)[..], &head, &entries].concat()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, BundleFault> {
        let bytes = bytes.strip_prefix(MAGIC).ok_or(BundleFault::NoBundle)?;
        let (head, entries) = Self::head(bytes).ok_or(BundleFault::Damaged)?;
        let (version, head) = counted(head).ok_or(BundleFault::Damaged)?;
        if version != VERSION.as_bytes() {
            let found = String::from_utf8_lossy(version).into_owned();
            return Err(BundleFault::Version { found, needed: VERSION.into() });
        }
        Self::body(head, entries).ok_or(BundleFault::Damaged)
    }

    /// Splits the bytes after the magic into the head and the entries. Returns `None` if the head's hash is wrong.
    fn head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (hash, rest) = rest.split_first_chunk::<32>()?;
        let (head, entries) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        (hash == &Sha256::digest(head)[..]).then_some((head, entries))
    }

    /// Parses the part of the head after the version, and the entries. Returns `None` if an entry is invalid or bytes
    /// are left over.
    fn body(head: &[u8], mut entries: &[u8]) -> Option<Self> {
        let mut bundle = Self::default();
        let (count, mut head) = head.split_first_chunk::<8>()?;
        for _ in 0..u64::from_le_bytes(*count) {
            let (capability, rest) = head.split_first_chunk::<4>()?;
            head = rest;
            bundle.architectures.insert(u32::from_le_bytes(*capability)).then_some(())?;
        }
        let (count, mut head) = head.split_first_chunk::<8>()?;
        let mut listed = Vec::new();
        for _ in 0..u64::from_le_bytes(*count) {
            let (key, rest) = head.split_first_chunk::<32>()?;
            let (capability, rest) = rest.split_first_chunk::<4>()?;
            let (name, rest) = counted(rest)?;
            let (length, rest) = rest.split_first_chunk::<8>()?;
            let (entry, others) = entries.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
            (head, entries) = (rest, others);
            let (key, capability) = (Key(*key), u32::from_le_bytes(*capability));
            bundle.architectures.contains(&capability).then_some(())?;
            listed.push((key, capability, core::str::from_utf8(name).ok()?, entry));
        }
        if !head.is_empty() || !entries.is_empty() {
            return None;
        }
        ringforge_cpu::threads::start();
        let decoded = listed.into_par_iter().map(|(key, capability, name, entry)| {
            let entry = decode(entry, &key).filter(|entry| matches!(entry.image, Image::Cubin(_)))?;
            Some((key, Item { capability, name: name.into(), entry: Arc::new(entry) }))
        });
        for (key, item) in decoded.collect::<Option<Vec<_>>>()? {
            bundle.kernels.insert(key, item).is_none().then_some(())?;
        }
        Some(bundle)
    }
}

impl fmt::Display for Bundle {
    /// Writes the path of the file that the bundle was loaded from, or that the bundle was made in this process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path.as_deref().unwrap_or("a bundle made in this process"))
    }
}

impl fmt::Debug for Bundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bundle({self}: {} kernels for {:?})", self.kernels.len(), self.architectures)
    }
}

#[cfg(test)]
#[path = "bundle_tests.rs"]
mod tests;
