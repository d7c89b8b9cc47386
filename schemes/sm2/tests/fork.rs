//! Tests that a signer that was created before a fork uses different randomness in parent and child. This is a separate
//! program, because a child process has only the thread that called fork.

#[cfg(unix)]
fn main() {
    use std::io::{Read, Write, pipe};
    use std::process::exit;

    use ringforge::{Engine, RandomKey};
    use ringforge_sm2::{Mode, Signer};

    // a thread pool that consists of this thread only, so that the child has the whole pool
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("a pool");
    let signer = Signer::new(&Engine::cpu(), Mode::Scan).expect("it compiles");
    let made = || {
        let mut made = [0; 64 + RandomKey::BYTES];
        signer.sign(&[7; 32], &[1; 32], &mut made[..64]).expect("it runs").into_result().expect("a signature");
        made[64..].copy_from_slice(RandomKey::from_os().expect("random_key").as_bytes());
        made
    };
    let (mut from, mut to) = pipe().expect("a pipe");
    // SAFETY: No other thread exists that could hold a lock or be in the middle of an operation.
    #[allow(unsafe_code)]
    let child = unsafe { libc::fork() };
    if child == 0 {
        exit(i32::from(to.write_all(&made()).is_err()));
    }
    assert!(child > 0, "no child");
    drop(to);
    let (ours, mut theirs) = (made(), [0; 64 + RandomKey::BYTES]);
    from.read_exact(&mut theirs).expect("what the child made");
    assert_ne!(ours[..32], theirs[..32], "the same nonce on both sides of a fork");
    assert_ne!(ours[64..], theirs[64..], "the same draws on both sides of a fork");
}

#[cfg(not(unix))]
fn main() {}
