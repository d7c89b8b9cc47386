//! From a kernel's text to a program: finds the compiler, and keeps what it made under a hash of what it was made from.

use core::fmt::Write;
use std::ffi::OsString;
use std::path::{self, Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io};

use ringforge_kernels::{HEADERS, host};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::source::Source;

const FLAGS: &[&str] = &["-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-I."];
const SANITIZE: &[&str] = &["-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// A C++ compiler and how it is called.
#[derive(Debug)]
pub(super) struct Compiler {
    /// Program and first arguments.
    command: Vec<String>,
    version: Vec<u8>,
    flags: Vec<&'static str>,
}

impl Compiler {
    /// The first that answers, of the environment's `CXX` and the usual names.
    pub(super) fn find(sanitize: bool) -> Option<Self> {
        let named = env::var("CXX").ok();
        let flags: Vec<_> = FLAGS.iter().chain(if sanitize { SANITIZE } else { &[] }).copied().collect();
        named.as_deref().into_iter().chain(["g++", "clang++", "c++"]).find_map(|name| {
            let command: Vec<String> = name.split_whitespace().map(Into::into).collect();
            let (program, first) = command.split_first()?;
            let output = Command::new(program).args(first).arg("--version").stdin(Stdio::null()).output().ok()?;
            output.status.success().then(|| Self { version: output.stdout, flags: flags.clone(), command })
        })
    }

    /// The program that runs a kernel, compiled now unless it was before.
    pub(super) fn program(&self, source: &Source) -> Result<PathBuf> {
        let name = source.entry;
        let failed = |e: io::Error| Error::Kernel {
            kernel: name.into(),
            why: format!("its text cannot be compiled in {}: {e}", root().display()),
        };
        let main = format!("{name}.cu");
        // a kernel's own header comes before the engine's of the same name
        let shared = HEADERS.iter().filter(|header| source.headers().iter().all(|own| own.name != header.name));
        let files: Vec<(&str, &str)> = [(main.as_str(), source.text()), ("prelude.cuh", source.prelude())]
            .into_iter()
            .chain(source.headers().iter().chain(shared).map(|file| (file.name, file.text)))
            .chain(shim())
            .collect();
        let made = |made: io::Result<Made>| match made {
            Ok(Made::At(folder)) => Ok(folder),
            Ok(Made::Refused(log)) => Err(Error::Compile { kernel: name.into(), log }),
            Err(e) => Err(failed(e)),
        };
        let runner = made(self.make(&["-c".into(), "runner.cpp".into(), "block.cpp".into()], &shim()))?;
        let runner = path::absolute(runner).map_err(failed)?;
        let object = |object: &str| runner.join(object).display().to_string();
        let arguments = [
            format!("-DRF_KERNEL_FILE=\"{main}\""),
            format!("-DRF_KERNEL={name}"),
            format!("-DRF_PORTS={}", source.ports.len()),
            "-o".into(),
            "runner".into(),
            "kernel.cpp".into(),
            object("runner.o"),
            object("block.o"),
        ];
        Ok(made(self.make(&arguments, &files))?.join("runner"))
    }

    /// The folder with these files and what the compiler makes of them, now or some time before.
    fn make(&self, arguments: &[String], files: &[(&str, &str)]) -> io::Result<Made> {
        let folder = root().join(self.key(arguments, files));
        if folder.exists() {
            return Ok(Made::At(folder));
        }
        private_folder(&root())?;
        let work = new_folder()?;
        for (name, text) in files {
            fs::write(work.join(name), text)?;
        }
        let output = Command::new(&self.command[0])
            .args(&self.command[1..])
            .args(&self.flags)
            .args(arguments)
            .current_dir(&work)
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            fs::remove_dir_all(&work)?;
            return Ok(Made::Refused(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        // another process may have been faster: then what it made serves as well
        if let Err(e) = fs::rename(&work, &folder) {
            fs::remove_dir_all(&work)?;
            if !folder.exists() {
                return Err(e);
            }
        }
        Ok(Made::At(folder))
    }

    fn key(&self, arguments: &[String], files: &[(&str, &str)]) -> String {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        self.command.iter().chain(arguments).for_each(|word| add(word.as_bytes()));
        self.flags.iter().for_each(|flag| add(flag.as_bytes()));
        add(&self.version);
        for (name, text) in files {
            add(name.as_bytes());
            add(text.as_bytes());
        }
        hash.finalize().iter().fold(String::new(), |mut key, byte| {
            // writing to a string does not fail
            let _ = write!(key, "{byte:02x}");
            key
        })
    }
}

/// What came of a call of the compiler.
enum Made {
    /// Its results lie in this folder.
    At(PathBuf),
    /// It says what is wrong.
    Refused(String),
}

fn shim() -> Vec<(&'static str, &'static str)> {
    host::FILES.iter().map(|file| (file.name, file.text)).collect()
}

fn root() -> PathBuf {
    let user = env::var_os("USER").unwrap_or_else(|| OsString::from("shared"));
    env::var_os("RINGFORGE_TEXT_DIR").map_or_else(
        || {
            let mut name = OsString::from("ringforge-text-");
            name.push(user);
            env::temp_dir().join(name)
        },
        PathBuf::from,
    )
}

/// Makes the folder, and refuses one that others can write to, because programs are run from it.
fn private_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
        builder.mode(0o700).create(path)?;
        if fs::metadata(path)?.permissions().mode() & 0o022 != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write to it"));
        }
        Ok(())
    }
    #[cfg(not(unix))]
    builder.create(path)
}

/// A new folder, of nobody else.
fn new_folder() -> io::Result<PathBuf> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = root().join(format!("new-{}-{number}", std::process::id()));
    if path.exists() {
        fs::remove_dir_all(&path)?; // of an earlier process with this number
    }
    fs::create_dir(&path)?;
    Ok(path)
}
