//! Checks that `docs/internals/algorithms.md` names the algorithm of every kernel.

use std::{fs, io};

use crate::sources::{root, with_extension};

#[test]
fn every_kernel_has_its_algorithm_listed() -> io::Result<()> {
    let page = fs::read_to_string(root().join("docs/internals/algorithms.md"))?;
    let kernels = with_extension("cu")?;
    assert!(kernels.len() > 50, "{} kernels", kernels.len());
    for (name, _) in &kernels {
        assert!(page.contains(&format!("(../../{name})")), "docs/internals/algorithms.md does not list {name}");
    }
    // the page must not link to files that do not exist
    for link in page.split("(../../").skip(1).filter_map(|rest| rest.split(')').next()) {
        let path = link.split('#').next().unwrap_or_default();
        assert!(root().join(path).exists(), "docs/internals/algorithms.md links to {path}, which does not exist");
    }
    Ok(())
}
