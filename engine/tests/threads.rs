//! If the operating system cannot start a thread, the engine works on the caller's thread. It starts threads as soon as
//! it can.

use std::process::Command;
use std::{env, fs};

use ringforge::{Engine, Job, Op, Order, PolyType, Result};
use ringforge_testkit::residues;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// An environment variable that is set in the child process, which runs one test on its only thread.
const CHILD: &str = "RINGFORGE_TEST_WITHOUT_THREADS";

#[test]
fn no_thread_can_be_started() -> Result<()> {
    if env::var_os(CHILD).is_none() {
        return Ok(());
    }
    let usual = getrlimit(Resource::Nproc);
    let limited = |limit| setrlimit(Resource::Nproc, limit).expect("a limit that is no higher");
    limited(Rlimit { current: Some(1), ..usual });
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "a thread was started");
    let engine = Engine::cpu();
    // a small batch; a batch that many threads would share; limbs that several threads would share
    for (text, batch) in [("17:x^8+1", 1), ("998244353:x^1024+1", 500), ("998244353:x^65536+1", 2)] {
        let ring: PolyType = text.parse()?;
        let bytes = residues(&ring, 1, batch);
        let mut values = bytes.clone();
        for op in [Op::Forward, Op::Inverse] {
            let program = engine.program(&Job::new(&ring, op).order(Order::Natural).in_place())?;
            program.on_host(batch).output("data", &mut values).run()?;
        }
        assert!(values == bytes, "{ring}");
    }
    let group = Engine::group(&[ringforge::Device::cpu(), ringforge::Device::cpu()])?;
    let ring: PolyType = "17:x^8+1".parse()?;
    let refused = group.mul(&ring, &[1u16; 80], &[1u16; 80]);
    assert!(matches!(refused, Err(ringforge::Error::Unsupported { .. })), "{refused:?}");

    // other threads share the work once they can be started
    limited(usual);
    let count = move || {
        engine.mul(&ring, &[1u16; 8], &[1u16; 8]).expect("a product");
        rayon::current_num_threads()
    };
    let threads = std::thread::spawn(count).join().expect("no panic");
    assert_eq!(threads, std::thread::available_parallelism().map_or(1, usize::from));
    Ok(())
}

#[test]
fn work_is_done_without_threads() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const NOBODY: u32 = 65_534;

    // a folder that the unprivileged user can access
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("permissions");
    let program = folder.path().join("tests");
    fs::copy(env::current_exe().expect("this program"), &program).expect("a copy");
    let test = "threads::no_thread_can_be_started";
    let mut command = Command::new(program);
    command.args(["--exact", test, "--test-threads=1", "--nocapture"]).env(CHILD, "1").env_remove("RAYON_NUM_THREADS");
    command.current_dir("/");
    // the limit on threads does not apply to root
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = loop {
        match command.output() {
            // a child that another test forked keeps this copy open for writing until it executes its program
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => break output.expect("the program"),
        }
    };
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
