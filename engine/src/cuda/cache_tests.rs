//! Tests of the cache on disk: what was damaged, moved or written by others is never used.

use super::*;

const KEY: Key = Key([7; 32]);

fn entry() -> Entry {
    Entry { image: Image::Cubin(vec![1, 2, 3, 4]), compiler: "NVRTC 13.0".into() }
}

fn filled() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(&folder.path().join("cache")).unwrap();
    cache.store(&KEY, &entry());
    (folder, cache)
}

#[test]
fn gives_back_what_was_stored() {
    let (_folder, cache) = filled();
    assert_eq!(cache.load(&KEY), Some(entry()));
    assert_eq!(cache.load(&Key([8; 32])), None);
    let other = Entry { image: Image::Ptx(vec![b'x', 0]), compiler: String::new() };
    cache.store(&KEY, &other);
    assert_eq!(cache.load(&KEY), Some(other));
    assert_eq!(fs::read_dir(&cache.folder).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn every_damaged_byte_is_noticed() {
    let (_folder, cache) = filled();
    let path = cache.path(&KEY);
    let sound = fs::read(&path).unwrap();
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x20;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(cache.load(&KEY), None, "byte {at}");
        fs::write(&path, &sound[..at]).unwrap();
        assert_eq!(cache.load(&KEY), None, "cut at {at}");
    }
    fs::write(&path, [&sound[..], b"x"].concat()).unwrap();
    assert_eq!(cache.load(&KEY), None, "a byte too many");
    cache.store(&KEY, &entry());
    assert_eq!(cache.load(&KEY), Some(entry()), "a damaged entry is replaced");
}

#[test]
fn an_entry_under_a_foreign_name_is_not_used() {
    let (_folder, cache) = filled();
    let other = Key([9; 32]);
    fs::rename(cache.path(&KEY), cache.path(&other)).unwrap();
    assert_eq!(cache.load(&other), None);
}

#[cfg(unix)]
#[test]
fn what_others_can_write_is_not_trusted() {
    use std::os::unix::fs::PermissionsExt;
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (_folder, cache) = filled();
    assert_eq!(fs::metadata(&cache.folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(cache.path(&KEY)).unwrap().permissions().mode() & 0o777, 0o600);
    set(&cache.path(&KEY), 0o620);
    assert_eq!(cache.load(&KEY), None);
    set(&cache.path(&KEY), 0o600);
    for mode in [0o720, 0o702, 0o777] {
        set(&cache.folder, mode);
        assert!(Cache::at(&cache.folder).is_err(), "{mode:o}");
    }
    set(&cache.folder, 0o755);
    assert!(Cache::at(&cache.folder).is_ok());
    // only root can give files away
    if std::os::unix::fs::chown(cache.path(&KEY), Some(12_345), None).is_ok() {
        assert_eq!(cache.load(&KEY), None);
        std::os::unix::fs::chown(&cache.folder, Some(12_345), None).unwrap();
        assert!(Cache::at(&cache.folder).is_err());
    }
}

#[test]
fn a_folder_that_cannot_be_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Cache::at(&file).is_err());
    assert!(Cache::at(&file.join("below")).is_err());
}

#[test]
fn a_failed_write_is_harmless() {
    let (folder, cache) = filled();
    fs::remove_dir_all(folder.path()).unwrap();
    cache.store(&KEY, &entry());
    assert_eq!(cache.load(&KEY), None);
}

#[test]
fn the_environment_names_the_folder() {
    let folder = |variables: &[(&str, &str)]| {
        folder_from(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).into()))
    };
    let home = ("HOME", "/home/me");
    assert_eq!(folder(&[home]), Some("/home/me/.cache/ringforge".into()));
    assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "/x")]), Some("/x/ringforge".into()));
    assert_eq!(folder(&[home, ("RINGFORGE_CACHE_DIR", "/mine")]), Some("/mine".into()));
    assert_eq!(folder(&[home, ("RINGFORGE_CACHE", "off"), ("RINGFORGE_CACHE_DIR", "/mine")]), None);
    assert_eq!(folder(&[]), None);
}
