//! Tests of the cache folders: files that another user could have written are rejected, and old entries are evicted.

use super::*;

fn put(cache: &Cache, name: &str, bytes: usize) -> PathBuf {
    let made = |work: &Path| {
        let file = work.join("made");
        fs::write(&file, vec![7; bytes])?;
        io::Result::Ok(file)
    };
    cache.keep(name, made).unwrap()
}

fn new() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(&folder.path().join("above/cache"), 100);
    (folder, cache)
}

#[test]
fn cached_entries_are_found() {
    let (_folder, cache) = new();
    assert_eq!(cache.usage().unwrap(), (0, 0));
    assert_eq!((cache.find("a").unwrap(), cache.clear()), (None, Ok(())));
    let path = put(&cache, "a", 10);
    assert_eq!(cache.find("a").unwrap(), Some(path));
    put(&cache, "a", 20);
    assert_eq!(cache.usage().unwrap(), (1, 20));
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 1, "nothing unfinished is left");
}

#[test]
fn least_recently_used_entries_are_removed() {
    let (_folder, cache) = new();
    let age = |name: &str, seconds| {
        let file = File::open(cache.folder().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    for (name, seconds) in [("a", 3000), ("b", 2000), ("c", 1000)] {
        put(&cache, name, 30);
        age(&format!("{name}{ENDING}"), seconds);
    }
    assert!(cache.find("a").unwrap().is_some(), "used now");
    age(&format!("a{ENDING}"), 900);
    put(&cache, "d", 30);
    assert_eq!(cache.names("").unwrap(), ["d", "a", "c"]);
    age(&format!("d{ENDING}"), 300);
    put(&cache, "whole", 1000);
    assert_eq!(cache.names("").unwrap(), ["whole", "d"], "what is in use stays, whatever the bound");
    // two temporary folders, left by processes that ended early: only the folder that is two days old is removed
    for name in ["old", "new"] {
        fs::create_dir(cache.folder().join(format!("{UNFINISHED}{name}"))).unwrap();
    }
    age(&format!("{UNFINISHED}old"), 2 * 24 * 60 * 60);
    put(&cache, "e", 1);
    let left: Vec<_> = cache.found().unwrap().into_iter().filter(|found| !found.is_finished).collect();
    assert!(matches!(&left[..], [found] if found.path.ends_with(format!("{UNFINISHED}new"))));
}

#[test]
fn clearing_leaves_other_files() {
    let (_folder, cache) = new();
    put(&cache, "a", 10);
    fs::write(cache.folder().join("letter.txt"), "dear").unwrap();
    fs::create_dir(cache.folder().join("photos.ringforge")).unwrap();
    // the temporary folder of an entry that another process is writing
    fs::create_dir(cache.folder().join(format!("{UNFINISHED}new"))).unwrap();
    cache.clear().unwrap();
    assert_eq!(cache.usage().unwrap(), (0, 0));
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 3);
}

#[test]
fn a_file_in_place_of_the_folder_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for path in [file.clone(), file.join("below")] {
        let cache = Cache::at(&path, 100);
        assert!(cache.open().is_err() && cache.usage().is_err(), "{}", path.display());
    }
}

#[test]
fn the_size_limit_must_be_a_number() {
    assert_eq!(most_bytes(None), 1 << 30);
    assert_eq!(most_bytes(Some("3".into())), 3 << 20);
    assert_eq!(most_bytes(Some("much".into())), 1 << 30);
    assert_eq!(most_bytes(Some(u64::MAX.to_string().into())), u64::MAX);
}

#[cfg(unix)]
mod others {
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use super::*;

    /// The id of another user.
    const OTHER: Option<u32> = Some(12_345);

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Whether this user can change the owner of a file, which only root can.
    fn gives_away() -> bool {
        rustix::process::geteuid().is_root()
    }

    fn is_refused<T>(outcome: io::Result<T>) -> bool {
        outcome.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    }

    /// Returns true if `find`, `open` and `keep` are denied, and `usage` fails.
    fn is_shut(cache: &Cache) -> bool {
        let kept = cache.keep("b", |work| Ok::<_, io::Error>(work.join("nothing")));
        is_refused(cache.find("a")) && is_refused(cache.open()) && is_refused(kept) && cache.usage().is_err()
    }

    #[test]
    fn folders_are_private() {
        let (folder, cache) = new();
        put(&cache, "a", 1);
        for path in [cache.folder(), &folder.path().join("above")] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_others_write_to_is_not_used() {
        let (folder, cache) = new();
        put(&cache, "a", 1);
        for path in [cache.folder(), &folder.path().join("above")] {
            for mode in [0o720, 0o702, 0o777] {
                set(path, mode);
                assert!(is_shut(&cache), "{} {mode:o}", path.display());
            }
            set(path, 0o755);
            assert!(cache.find("a").unwrap().is_some());
        }
        // a sticky folder, such as `/tmp`, is accepted above the cache folder, but not as the cache folder itself
        set(&folder.path().join("above"), 0o1777);
        assert!(cache.find("a").unwrap().is_some());
        set(cache.folder(), 0o1777);
        assert!(is_shut(&cache));
    }

    #[test]
    fn a_folder_of_another_user_is_not_used() {
        if !gives_away() {
            return;
        }
        let (folder, cache) = new();
        put(&cache, "a", 1);
        for path in [cache.folder(), &folder.path().join("above")] {
            chown(path, OTHER, None).unwrap();
            assert!(is_shut(&cache), "{}", path.display());
            chown(path, Some(0), None).unwrap();
        }
        assert!(cache.find("a").unwrap().is_some());
    }

    #[test]
    fn an_entry_of_another_user_is_not_used() {
        let (_folder, cache) = new();
        let path = put(&cache, "a", 1);
        set(&path, 0o620);
        assert!(is_refused(cache.find("a")));
        set(&path, 0o600);
        assert!(cache.find("a").unwrap().is_some());
        if gives_away() {
            chown(&path, OTHER, None).unwrap();
            assert!(is_refused(cache.find("a")));
        }
        let elsewhere = cache.folder().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        symlink(&elsewhere, &path).unwrap();
        assert!(cache.find("a").is_err(), "a link");
        put(&cache, "a", 2);
        assert!(cache.find("a").unwrap().is_some(), "what is kept takes its place");
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let (folder, cache) = new();
        put(&cache, "a", 1);
        let link = folder.path().join("link");
        symlink(folder.path().join("above"), &link).unwrap();
        let by_link = Cache::at(&link.join("cache"), 100);
        assert!(by_link.find("a").unwrap().is_some());
        if gives_away() {
            lchown(&link, OTHER, None).unwrap();
            assert!(is_shut(&by_link));
        }
        // the folders above the link's target are checked too
        set(&folder.path().join("above"), 0o777);
        assert!(is_shut(&by_link));
    }
}
