//! Checks that no user other than this one and root could have written a file.

use std::fs::{self, Metadata};
use std::io;
use std::path::{self, Path, PathBuf};

/// Creates a private folder and its missing parents.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Makes a file private: removes the permissions of group and others.
#[cfg(unix)]
pub(super) fn make_file_private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let mode = fs::metadata(file)?.permissions().mode();
    fs::set_permissions(file, fs::Permissions::from_mode(mode & 0o700))
}

/// Checks that only this user and root can write to a folder or replace it, and returns the folder's canonical path.
/// Fails otherwise, and for a path that is not a folder.
pub(super) fn check_folder(folder: &Path) -> io::Result<PathBuf> {
    // the path may contain links: no other user may be able to redirect one
    check_way(&path::absolute(folder)?)?;
    let folder = folder.canonicalize()?;
    let about = check_way(&folder)?;
    if !about.is_dir() {
        return Err(refused(&folder, io::ErrorKind::NotADirectory, "is not a folder"));
    }
    if is_shared(&about) {
        return Err(refused(&folder, io::ErrorKind::PermissionDenied, "can be written by other users"));
    }
    Ok(folder)
}

/// Checks that a path is a regular file, not a link, and that only this user and root can write to it. The file's
/// folder must have been checked before.
pub(super) fn check_file(file: &Path) -> io::Result<()> {
    if check(file)?.is_file() {
        Ok(())
    } else {
        Err(refused(file, io::ErrorKind::InvalidData, "is not a regular file"))
    }
}

/// Checks that only this user and root can write to a file or replace it, and returns the file's canonical path. Fails
/// otherwise, and for a path that is not a regular file.
#[cfg(feature = "cuda")]
pub(super) fn check_single(file: &Path) -> io::Result<PathBuf> {
    // the path may contain links: no other user may be able to redirect one
    check_way(&path::absolute(file)?)?;
    let file = file.canonicalize()?;
    check_way(&file)?;
    check_file(&file)?;
    Ok(file)
}

/// Checks a path and all folders above it with [`check`]. Returns the path's metadata.
fn check_way(path: &Path) -> io::Result<Metadata> {
    path.ancestors().skip(1).try_for_each(|above| check(above).map(drop))?;
    check(path)
}

/// Checks one path: it must belong to this user or root, and no other user may write to it. Returns its metadata.
#[cfg(unix)]
fn check(path: &Path) -> io::Result<Metadata> {
    use std::os::unix::fs::MetadataExt;

    const STICKY: u32 = 0o1000;
    let about = fs::symlink_metadata(path)?;
    let denied = |why| Err(refused(path, io::ErrorKind::PermissionDenied, why));
    // files of root are accepted: root can do anything anyway, and may have installed the folder
    if about.uid() != rustix::process::geteuid().as_raw() && about.uid() != 0 {
        return denied("belongs to another user");
    }
    // a sticky folder is accepted, because other users can replace only their own files in it; a link has no mode of
    // its own
    if is_shared(&about) && !about.is_symlink() && !(about.is_dir() && about.mode() & STICKY != 0) {
        return denied("can be written by other users");
    }
    Ok(about)
}

/// Whether the group or other users may write to the file.
#[cfg(unix)]
fn is_shared(about: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(about) & 0o022 != 0
}

// outside of Unix, the user's folders are assumed to be private

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
