//! Checks that this machine has the memory for a batch before it is allocated.

use ringforge::{Error, Result};

/// Copies of the measured data that are in memory at once: the data itself, and its source or the expected result.
const COPIES: usize = 2;

/// Returns [`Error::TooLarge`] if a batch of items of this size would not fit into this machine's memory.
pub fn fits(batch: usize, item_bytes: usize) -> Result<()> {
    let got = batch.saturating_mul(item_bytes).saturating_mul(COPIES);
    let limit = free_bytes().unwrap_or(isize::MAX as usize);
    if got > limit { Err(Error::TooLarge { what: "the memory for a batch", limit, got }) } else { Ok(()) }
}

/// Bytes that programs can still allocate, if the system reports it.
fn free_bytes() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.trim().strip_suffix(" kB")?.parse::<usize>().ok()?.checked_mul(1024)?;
    Some(free.min(group_bytes().unwrap_or(usize::MAX)))
}

/// Memory limit of this process's control group in bytes, such as the limit of a container.
fn group_bytes() -> Option<usize> {
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    files.iter().find_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_batches_are_rejected() {
        assert!(fits(16, 1024).is_ok() && fits(usize::MAX, 0).is_ok());
        for (batch, item) in [(usize::MAX, 2), (usize::MAX / 8, 1), (2, usize::MAX)] {
            assert!(matches!(fits(batch, item), Err(Error::TooLarge { .. })), "{batch} of {item}");
        }
    }
}
