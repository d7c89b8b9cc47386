//! Installs the C library with `install.sh`, from the build that the test belongs to.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

/// A temporary folder into which the library was installed.
pub(crate) struct Installed(TempDir);

impl Installed {
    /// Installs the library. Returns `None` without a C compiler, and on systems other than Linux, where libraries have
    /// other names.
    pub(crate) fn new() -> Option<Self> {
        if !cfg!(target_os = "linux") || Command::new("cc").arg("--version").output().is_err() {
            return None;
        }
        let folder = TempDir::new().unwrap();
        // let the script call a dummy `cargo`, because the library is already built
        let (programs, target) = (folder.path().join("programs"), folder.path().join("target"));
        fs::create_dir(&programs).unwrap();
        symlink("/bin/true", programs.join("cargo")).unwrap();
        fs::create_dir(&target).unwrap();
        symlink(env::current_exe().unwrap().parent().unwrap(), target.join("release")).unwrap();
        let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap());
        let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh"));
        script.arg(folder.path()).env("PATH", path).env("CARGO_TARGET_DIR", target);
        assert!(script.status().unwrap().success(), "{script:?}");
        Some(Self(folder))
    }

    /// The path of an installed file.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
