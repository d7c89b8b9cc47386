//! Who could have written a file: this user, root, or somebody else.

use std::fs::{self, Metadata};
use std::io;
use std::path::{self, Path, PathBuf};

/// Makes a folder that is this user's alone, with those above it that are missing.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Takes others' rights on a file.
#[cfg(unix)]
pub(super) fn make_file_private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = fs::metadata(file)?.permissions().mode();
    fs::set_permissions(file, fs::Permissions::from_mode(mode & 0o700))
}

/// The path of a folder without links, where nobody but this user and root can put anything into the folder, or another
/// folder in its place.
pub(super) fn check_folder(folder: &Path) -> io::Result<PathBuf> {
    // nor can they choose where a link on the way leads
    check_way(&path::absolute(folder)?)?;
    let folder = folder.canonicalize()?;
    let about = check_way(&folder)?;
    if !about.is_dir() {
        return Err(refused(&folder, io::ErrorKind::NotADirectory, "is no folder"));
    }
    if is_shared(&about) {
        return Err(refused(&folder, io::ErrorKind::PermissionDenied, "can be written by others"));
    }
    Ok(folder)
}

/// Checks that a file of a checked folder is one, no link, and written by this user or root.
pub(super) fn check_file(file: &Path) -> io::Result<()> {
    if check(file)?.is_file() { Ok(()) } else { Err(refused(file, io::ErrorKind::InvalidData, "is no file")) }
}

/// The path of a file without links, where nobody but this user and root can write to it, or put another in its place.
#[cfg(feature = "cuda")]
pub(super) fn check_single(file: &Path) -> io::Result<PathBuf> {
    // nor can they choose where a link on the way leads
    check_way(&path::absolute(file)?)?;
    let file = file.canonicalize()?;
    check_way(&file)?;
    check_file(&file)?;
    Ok(file)
}

/// Checks a path and all that is above it; says what lies there.
fn check_way(path: &Path) -> io::Result<Metadata> {
    path.ancestors().skip(1).try_for_each(|above| check(above).map(drop))?;
    check(path)
}

/// What lies at this path: this user's or root's, and nothing that others can replace.
#[cfg(unix)]
fn check(path: &Path) -> io::Result<Metadata> {
    use std::os::unix::fs::MetadataExt;

    const STICKY: u32 = 0o1000;
    let about = fs::symlink_metadata(path)?;
    let denied = |why| Err(refused(path, io::ErrorKind::PermissionDenied, why));
    // root may do anything anyway, and may have shipped the folder
    if about.uid() != rustix::process::geteuid().as_raw() && about.uid() != 0 {
        return denied("belongs to another user");
    }
    // in a sticky folder others replace only what is theirs; a link has no mode of its own
    if is_shared(&about) && !about.is_symlink() && !(about.is_dir() && about.mode() & STICKY != 0) {
        return denied("can be written by others");
    }
    Ok(about)
}

/// Whether others may write to it.
#[cfg(unix)]
fn is_shared(about: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(about) & 0o022 != 0
}

// the user's own folders are private there

#[cfg(not(unix))]
pub(super) fn make_file_private(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn check(path: &Path) -> io::Result<Metadata> {
    fs::symlink_metadata(path)
}

#[cfg(not(unix))]
fn is_shared(_: &Metadata) -> bool {
    false
}

fn refused(path: &Path, kind: io::ErrorKind, why: &str) -> io::Error {
    io::Error::new(kind, format!("{} {why}", path.display()))
}
