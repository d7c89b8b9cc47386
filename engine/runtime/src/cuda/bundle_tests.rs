//! Tests of kernel bundles: a bundle that is damaged, or made for another version or architecture, is rejected as a
//! whole.

use std::fs;

use super::*;

const KEYS: [Key; 3] = [Key([7; 32]), Key([8; 32]), Key([9; 32])];

fn image(first: u8) -> Image {
    Image::Cubin(vec![first, 2, 3, 4])
}

/// A bundle with one kernel for sm_80 and two for sm_90.
fn bundle() -> Bundle {
    let item = |(key, (capability, name)): (Key, (u32, &str))| {
        let entry = Arc::new(Entry { image: image(key.0[0]), compiler: "NVRTC 13.0".into() });
        (key, Item { capability, name: name.into(), entry })
    };
    let kernels = KEYS.into_iter().zip([(80, "forward"), (90, "forward"), (90, "affine")]).map(item).collect();
    Bundle { path: None, architectures: [80, 90].into(), kernels }
}

fn fault(bytes: &[u8]) -> Option<BundleFault> {
    Bundle::from_bytes(bytes).err()
}

/// Applies `change` to the head of a valid bundle and corrects the head's hash. Returns the fault with which loading
/// fails, or `None` if it succeeds.
fn fault_of(change: impl FnOnce(&mut Vec<u8>)) -> Option<BundleFault> {
    let mut bytes = bundle().to_bytes(VERSION);
    let length = u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize;
    let entries = bytes.split_off(48 + length);
    let mut head = bytes.split_off(48);
    change(&mut head);
    let length = (head.len() as u64).to_le_bytes();
    fault(&[&MAGIC[..], &length, &Sha256::digest(&head)[..], &head, &entries].concat())
}

#[test]
fn a_saved_bundle_loads_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.bundle");
    bundle().save(&path).unwrap();
    let loaded = Bundle::load(&path).unwrap();
    assert_eq!((&loaded.architectures, &loaded.kernels), (&bundle().architectures, &bundle().kernels));
    assert_eq!(loaded.to_string(), path.display().to_string());
    assert_eq!(loaded.kernels(90), ["affine", "forward"]);
    for key in KEYS {
        assert_eq!(loaded.image(&key), Some(image(key.0[0])));
    }
    assert_eq!(loaded.image(&Key([6; 32])), None);
    Bundle::default().save(&path).unwrap();
    assert_eq!(Bundle::load(&path).unwrap().architectures().count(), 0, "replaced");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");
}

#[test]
fn every_damaged_or_missing_byte_is_detected() {
    let sound = bundle().to_bytes(VERSION);
    assert_eq!(fault(&sound), None);
    for at in 0..sound.len() {
        let expected = if at < MAGIC.len() { BundleFault::NoBundle } else { BundleFault::Damaged };
        assert_eq!(fault(&sound[..at]), Some(expected.clone()), "cut at {at}");
        for bit in 0..8 {
            let mut damaged = sound.clone();
            damaged[at] ^= 1 << bit;
            assert_eq!(fault(&damaged), Some(expected.clone()), "bit {bit} of byte {at}");
        }
    }
    assert_eq!(fault(&[&sound[..], b"x"].concat()), Some(BundleFault::Damaged), "a byte too many");
}

#[test]
fn invalid_headers_are_refused() {
    assert_eq!(fault_of(|_| {}), None);
    // offsets in the head: after the version and its length (8 bytes) come two architectures, then the kernels
    let architectures = 8 + VERSION.len();
    let kernels = architectures + 8 + 2 * 4;
    let huge = |at: usize| move |head: &mut Vec<u8>| head[at..at + 8].fill(0xff);
    type Case<'a> = (&'a str, &'a dyn Fn(&mut Vec<u8>));
    let cases: [Case<'_>; 8] = [
        ("a huge count of bytes", &huge(0)),
        ("a huge count of architectures", &huge(architectures)),
        ("a huge count of kernels", &huge(kernels)),
        ("a huge entry", &huge(kernels + 8 + 32 + 4 + 8 + "forward".len())),
        ("the same architecture twice", &|head| {
            head.copy_within(architectures + 8..architectures + 12, architectures + 12);
        }),
        ("a kernel for an architecture that is not there", &|head| head[kernels + 8 + 32] = 89),
        ("an entry of another key", &|head| head[kernels + 8] ^= 1),
        ("more than the head says", &|head| head.push(0)),
    ];
    for (what, change) in cases {
        assert_eq!(fault_of(change), Some(BundleFault::Damaged), "{what}");
    }
    // a kernel name that is not valid UTF-8 must be rejected too
    assert_eq!(fault_of(|head| head[kernels + 8 + 32 + 4 + 8] = 0xff), Some(BundleFault::Damaged));
}

#[test]
fn only_machine_code_is_accepted() {
    let mut ptx = bundle();
    ptx.kernels.values_mut().for_each(|item| {
        item.entry = Arc::new(Entry { image: Image::Ptx(vec![b'x', 0]), compiler: "NVRTC 13.0".into() });
    });
    assert_eq!(fault(&ptx.to_bytes(VERSION)), Some(BundleFault::Damaged));
}

#[test]
fn another_version_is_refused() {
    let found = "0.0.9".to_owned();
    let expected = BundleFault::Version { found: found.clone(), needed: VERSION.into() };
    assert_eq!(fault(&bundle().to_bytes(&found)), Some(expected));
}

#[test]
fn another_architecture_is_refused() {
    assert_eq!(bundle().check_for(90), Ok(()));
    let fault = BundleFault::Architecture { found: vec![80, 90], needed: 89 };
    assert_eq!(fault.to_string(), "the bundle has kernels for sm_80, sm_90, but this GPU is sm_89");
    let refused = bundle().check_for(89);
    assert!(matches!(&refused, Err(Error::Bundle { fault: found, .. }) if *found == fault), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn files_that_others_can_write_are_refused() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernels.bundle");
    bundle().save(&path).unwrap();
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let is_refused = || matches!(Bundle::load(&path), Err(Error::File { .. }));
    allow(&path, 0o666);
    assert!(is_refused(), "a file that others can write to");
    allow(&path, 0o644);
    assert!(!is_refused());
    allow(folder.path(), 0o777);
    assert!(is_refused(), "a folder that others can write to");
    allow(folder.path(), 0o700);
    assert!(matches!(Bundle::load(folder.path()), Err(Error::File { .. })), "a folder is no file");
    assert!(matches!(Bundle::load(&folder.path().join("none")), Err(Error::File { .. })));
}
