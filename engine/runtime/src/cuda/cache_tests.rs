//! Tests of compiled kernels on disk: an entry that was damaged, moved, or made by another compiler is never used.

use super::*;

const KEY: Key = Key([7; 32]);
const COMPILER: &str = "NVRTC 13.0";

fn entry(compiler: &str) -> Entry {
    Entry { image: Image::Cubin(vec![1, 2, 3, 4]), compiler: compiler.into() }
}

fn filled() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(&folder.path().join("cache"), 1 << 20);
    store(&cache, &KEY, &entry(COMPILER));
    (folder, cache)
}

/// The stored entry of a key, if it was made by `COMPILER`.
fn loaded(cache: &Cache, key: &Key) -> Option<Entry> {
    load(cache, key, Some(COMPILER)).next()
}

#[test]
fn a_stored_entry_loads_unchanged() {
    let (_folder, cache) = filled();
    assert_eq!(loaded(&cache, &KEY), Some(entry(COMPILER)));
    assert_eq!(loaded(&cache, &Key([8; 32])), None);
    let other = Entry { image: Image::Ptx(vec![b'x', 0]), compiler: COMPILER.into() };
    store(&cache, &KEY, &other);
    assert_eq!(loaded(&cache, &KEY), Some(other));
    assert_eq!(cache.usage().unwrap().0, 1);
}

#[test]
fn a_compiler_has_its_own_entries() {
    let (_folder, cache) = filled();
    assert_eq!(load(&cache, &KEY, Some("NVRTC 13.1")).next(), None);
    store(&cache, &KEY, &entry("NVRTC 13.1"));
    for compiler in [COMPILER, "NVRTC 13.1"] {
        assert_eq!(load(&cache, &KEY, Some(compiler)).collect::<Vec<_>>(), [entry(compiler)]);
    }
    // without a compiler, entries of all compilers are used
    assert_eq!(load(&cache, &KEY, None).count(), 2);
    assert_eq!(load(&cache, &Key([8; 32]), None).count(), 0);
}

#[test]
fn every_damaged_byte_is_detected() {
    let (_folder, cache) = filled();
    let path = cache.find(&name(&KEY, COMPILER)).unwrap().unwrap();
    let sound = fs::read(&path).unwrap();
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x20;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(loaded(&cache, &KEY), None, "byte {at}");
        fs::write(&path, &sound[..at]).unwrap();
        assert_eq!(loaded(&cache, &KEY), None, "cut at {at}");
    }
    fs::write(&path, [&sound[..], b"x"].concat()).unwrap();
    assert_eq!(loaded(&cache, &KEY), None, "a byte too many");
    store(&cache, &KEY, &entry(COMPILER));
    assert_eq!(loaded(&cache, &KEY), Some(entry(COMPILER)), "a damaged entry is replaced");
}

#[test]
fn an_entry_under_a_foreign_name_is_not_used() {
    let (_folder, cache) = filled();
    let path = cache.find(&name(&KEY, COMPILER)).unwrap().unwrap();
    let other = Key([9; 32]);
    let named = |key, compiler: &str| path.with_file_name(name(key, compiler) + ".ringforge");
    fs::copy(&path, named(&other, COMPILER)).unwrap();
    assert_eq!(loaded(&cache, &other), None);
    fs::copy(&path, named(&KEY, "NVRTC 13.1")).unwrap();
    assert_eq!(load(&cache, &KEY, Some("NVRTC 13.1")).next(), None);
}

#[test]
fn a_failed_write_is_harmless() {
    let (_folder, cache) = filled();
    fs::remove_dir_all(cache.folder()).unwrap();
    fs::write(cache.folder(), "no folder").unwrap();
    store(&cache, &KEY, &entry(COMPILER));
    assert_eq!(loaded(&cache, &KEY), None);
}

#[test]
fn the_cache_can_be_turned_off() {
    assert!(["off", "OFF", "0", "no"].into_iter().all(is_off));
    assert!(["", "on", "1"].into_iter().all(|switch| !is_off(switch)));
}
