//! Checks that library functions call `threads::start` before they give work to rayon. Without this call, rayon panics
//! if the system cannot start a thread.

use std::io;

use crate::sources::libraries;

const USES: [&str; 5] = [".par_", ".into_par_iter(", "rayon::join(", "rayon::scope(", "rayon::current_num_threads("];

/// Returns the lines that give work to rayon without an earlier call of `threads::start` in the same function.
fn forgotten(text: &str) -> Vec<&str> {
    let code = text.split("\nmod tests {").next().unwrap_or_default();
    let mut started = false;
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        if line.contains("fn ") {
            started = false;
        }
        started |= line.contains("threads::start()");
        !started && !line.starts_with("//") && USES.iter().any(|found| line.contains(found))
    });
    lines.collect()
}

#[test]
fn rayon_is_started_before_it_is_used() -> io::Result<()> {
    assert_eq!(forgotten("fn a() {\n    x.par_iter();\n}"), ["    x.par_iter();"]);
    assert!(forgotten("fn a() {\n    threads::start();\n    x.par_iter();\n}").is_empty());
    let all = libraries()?;
    assert!(all.len() > 200, "{} files", all.len());
    for (name, text) in all.iter().filter(|(name, _)| name != "engine/cpu/src/threads.rs") {
        assert!(forgotten(text).is_empty(), "{name}: {:?}", forgotten(text));
    }
    Ok(())
}
