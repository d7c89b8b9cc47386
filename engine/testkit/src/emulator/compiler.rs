//! Compiles a kernel's CUDA source to a program for the CPU: finds a C++ compiler, and caches the compiler's results
//! under a hash of the compiler's inputs.

use core::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs, io};

use ringforge_kernels::{HEADERS, host};
use sha2::{Digest, Sha256};

use ringforge_math::error::{Error, Result};
use ringforge_runtime::cache::Cache;
use ringforge_runtime::kernel::Source;

const FLAGS: &[&str] = &["-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-I."];
/// File name of the compiler's output before it is moved to the cache.
const MADE: &str = "made";
/// Flags of the sanitizers. Checks of null pointers and object sizes are left out, because the address sanitizer finds
/// both.
const SANITIZE: &[&str] =
    &["-g1", "-fsanitize=address,undefined", "-fno-sanitize=null,object-size", "-fno-sanitize-recover=all"];
/// Selects the gold linker, which takes half the time of the default linker. Used if it is installed.
const LINKER: &str = "-fuse-ld=gold";
/// Source of a program that tests whether linking works. It is linked to the same libraries as kernels' programs.
const PROGRAM: &str = "int main() {}\n";
/// Flags for block.cpp, which schedules threads and is not under test. It is optimised and not sanitized, but announces
/// its stacks to the sanitizers.
const SCHEDULER: &[&str] = &["-O2", "-fno-sanitize=all"];
const TELLS_SANITIZER: &str = "-DRF_HOST_ASAN=1";

/// A C++ compiler and how it is called.
#[derive(Debug)]
pub(super) struct Compiler {
    /// The compiler's program name and first arguments.
    command: Vec<String>,
    version: Vec<u8>,
    flags: Vec<&'static str>,
    /// The cache of compiled objects and programs.
    cache: Cache,
}

/// Why compilation failed.
enum Failure {
    /// The compiler's error output.
    Refused(String),
    Io(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Compiler {
    /// Finds the first working compiler among the environment variable `CXX` and the usual names.
    pub(super) fn find(sanitize: bool, cache: &Cache) -> Option<Self> {
        let named = env::var("CXX").ok();
        let flags: Vec<_> = FLAGS.iter().chain(if sanitize { SANITIZE } else { &[] }).copied().collect();
        named.as_deref().into_iter().chain(["g++", "clang++", "c++"]).find_map(|name| {
            let command: Vec<String> = name.split_whitespace().map(Into::into).collect();
            let (program, first) = command.split_first()?;
            let output = Command::new(program).args(first).arg("--version").stdin(Stdio::null()).output().ok()?;
            if !output.status.success() {
                return None;
            }
            let linker = links(&command, &flags).then_some(LINKER);
            let flags = flags.iter().copied().chain(linker).collect();
            Some(Self { command, version: output.stdout, flags, cache: cache.clone() })
        })
    }

    /// Returns the path of the program that runs a kernel. Compiles the program unless it is cached.
    pub(super) fn program(&self, source: &Source) -> Result<PathBuf> {
        let name = &*source.parts().entry;
        let failed = |failure| match failure {
            Failure::Refused(log) => Error::Compile { kernel: name.into(), log },
            Failure::Io(e) => Error::Kernel {
                kernel: name.into(),
                why: format!(
                    "its source cannot be compiled in {} (set RINGFORGE_CACHE_DIR to use another folder): {e}",
                    self.cache.folder().display()
                ),
            },
        };
        let main = format!("{name}.cu");
        // a kernel's own header takes precedence over the engine's of the same name
        let shared = HEADERS.iter().filter(|header| source.headers().iter().all(|own| own.name != header.name));
        let files: Vec<(&str, &str)> = [(main.as_str(), source.cuda_source()), ("prelude.cuh", source.prelude())]
            .into_iter()
            .chain(source.headers().iter().chain(shared).map(|file| (file.name, file.text)))
            .chain(shim())
            .collect();
        let object = |part: &str, flags: &[&str]| {
            let arguments: Vec<String> = ["-c", part].iter().chain(flags).map(|&word| word.into()).collect();
            Ok(self.make(&arguments, &shim())?.display().to_string())
        };
        let tells = self.flags.contains(&SANITIZE[1]).then_some(TELLS_SANITIZER);
        let scheduler: Vec<&str> = SCHEDULER.iter().copied().chain(tells).collect();
        let arguments = |[runner, block]: [String; 2]| {
            let (ports, numbers) = (source.parts().ports.len(), source.parts().numbers.len());
            let defined = [
                format!("-DRF_KERNEL_FILE=\"{main}\""),
                format!("-DRF_KERNEL={name}"),
                format!("-DRF_PORTS={ports}"),
                format!("-DRF_NUMBERS={numbers}"),
            ];
            // the compiler passes files with an unknown extension to the linker
            [&defined[..], &["kernel.cpp".into(), runner, block]].concat()
        };
        let objects = object("runner.cpp", &[]).and_then(|runner| Ok([runner, object("block.cpp", &scheduler)?]));
        objects.and_then(|objects| self.make(&arguments(objects), &files)).map_err(failed)
    }

    /// Returns the path of the compiler's result for these arguments and files. Compiles them unless the result is
    /// cached.
    fn make(&self, arguments: &[String], files: &[(&str, &str)]) -> Result<PathBuf, Failure> {
        let key = self.key(arguments, files);
        match self.cache.find(&key)? {
            Some(path) => Ok(path),
            None => self.cache.keep(&key, |folder| self.compile(folder, arguments, files)),
        }
    }

    fn compile(&self, folder: &Path, arguments: &[String], files: &[(&str, &str)]) -> Result<PathBuf, Failure> {
        for (name, text) in files {
            fs::write(folder.join(name), text)?;
        }
        let output = Command::new(&self.command[0])
            .args(&self.command[1..])
            .args(&self.flags)
            .args(["-o", MADE])
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()?;
        if !output.status.success() {
            return Err(Failure::Refused(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(folder.join(MADE))
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

/// Whether the compiler can link a program with [`LINKER`]. The linker may be installed and still not find the
/// compiler's libraries.
fn links(command: &[String], flags: &[&str]) -> bool {
    let made = || {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("program.cpp"), PROGRAM)?;
        let mut compiler = Command::new(&command[0]);
        compiler.args(&command[1..]).args(flags).args([LINKER, "-o", MADE, "program.cpp"]);
        compiler.current_dir(folder.path()).stdin(Stdio::null()).output()
    };
    made().is_ok_and(|output: Output| output.status.success())
}

fn shim() -> Vec<(&'static str, &'static str)> {
    host::FILES.iter().map(|file| (file.name, file.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fake compiler, whose result is always a file with the text `ours`.
    fn compiler(folder: &Path) -> Compiler {
        let script = folder.join("cxx.sh");
        fs::write(&script, format!("echo ours > {MADE}\n")).unwrap();
        let command = vec!["sh".into(), script.display().to_string()];
        Compiler { command, version: Vec::new(), flags: Vec::new(), cache: Cache::at(&folder.join("cache"), 1 << 20) }
    }

    #[cfg(unix)]
    #[test]
    fn files_of_another_user_are_not_run() {
        use std::os::unix::fs::{PermissionsExt, chown};

        let folder = tempfile::tempdir().unwrap();
        let compiler = compiler(folder.path());
        let made = || compiler.make(&["kernel.cpp".into()], &[("kernel.cpp", "")]).ok();
        let path = made().unwrap();
        assert_eq!((fs::read(&path).unwrap(), made()), (b"ours\n".to_vec(), Some(path.clone())));
        fs::write(&path, "planted").unwrap();
        match chown(&path, Some(12_345), None) {
            Ok(()) => {}
            // only root can change a file's owner
            Err(_) => fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap(),
        }
        assert_eq!(made(), None);
        fs::remove_file(&path).unwrap();
        assert_eq!(made(), Some(path));
    }
}
