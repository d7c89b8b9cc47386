//! One process of a multi-process launch: its rank, and the address at which all processes meet.

use core::time::Duration;

use ringforge_math::error::{Error, Result};

/// One of several processes that compute transforms together, with one GPU each, on one or several hosts. Pass it to
/// `Engine::join`.
///
/// The processes meet at an address where rank 0 listens on a TCP socket; use it on trusted networks only. A process
/// that connects must know the job's token (a shared secret), of which it sends a hash. Nothing is encrypted.
///
/// ```
/// use ringforge::run::Rank;
/// let launch = Rank::new(1, 2, "10.0.0.1:29501")?; // or Rank::from_env(), under torchrun, srun or mpirun
/// assert_eq!((launch.rank(), launch.size()), (1, 2));
/// # Ok::<(), ringforge::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rank {
    rank: usize,
    size: usize,
    local_rank: usize,
    address: String,
    /// The launcher's name for the job. It distinguishes jobs and is not secret.
    job: String,
    token: String,
    timeout: Duration,
}

/// Environment variables of torchrun, srun and mpirun, for the rank, the number of processes and the rank on this host.
const LAUNCHERS: [[&str; 3]; 3] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
];

/// Environment variables that hold the job's name. The first one that is set counts.
const JOBS: [&str; 3] = ["TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PMIX_NAMESPACE"];

impl Rank {
    /// Default time limit for waiting on another process.
    #[doc(hidden)]
    pub const TIMEOUT: Duration = Duration::from_mins(1);

    /// The process of this rank, 0 … `size` − 1, among `size` processes that meet at `host:port`, an address of rank 0.
    /// The process's rank on its host is assumed to equal `rank`, and the token is empty. An address that is not
    /// loopback needs a token ([`Rank::with_token`]).
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a rank that is not below the size.
    pub fn new(rank: usize, size: usize, address: impl Into<String>) -> Result<Self> {
        if rank >= size {
            let (expected, got) = (format!("a number below {size}"), rank.to_string());
            return Err(Error::Mismatch { what: "the rank of a process".into(), expected, got });
        }
        let [job, token] = [const { String::new() }; 2];
        Ok(Self { rank, size, local_rank: rank, address: address.into(), job, token, timeout: Self::TIMEOUT })
    }

    /// The process that the launcher's environment describes: torchrun (`RANK`, `WORLD_SIZE`, `LOCAL_RANK`), else srun
    /// (`SLURM_PROCID`, `SLURM_NTASKS`, `SLURM_LOCALID`), else mpirun (`OMPI_COMM_WORLD_RANK`, `_SIZE`, `_LOCAL_RANK`).
    /// Without these variables, it is a single process.
    ///
    /// The address is `RINGFORGE_RENDEZVOUS` (`host:port`), else `MASTER_ADDR` with the port `MASTER_PORT` + 1. The
    /// token is `RINGFORGE_TOKEN`; without it, the processes can only meet on one host. Launches with different job
    /// names (`TORCHELASTIC_RUN_ID`, `SLURM_JOB_ID`, `PMIX_NAMESPACE`) do not meet.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if one of the launcher's variables is missing or not a number, or if the rank is not below
    /// the number of processes; [`Error::Unsupported`] if there are several processes but no address.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_variables(get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let Some([rank, size, local_rank]) = LAUNCHERS.iter().find(|names| get(names[0]).is_some()) else {
            return Self::new(0, 1, "");
        };
        let number = |name: &str| {
            let got = get(name).unwrap_or_else(|| "nothing".into());
            let mismatch = |_| Error::Mismatch { what: name.into(), expected: "a number".into(), got: got.clone() };
            got.parse::<usize>().map_err(mismatch)
        };
        let (rank, size, local_rank) = (number(rank)?, number(size)?, number(local_rank)?);
        let master = || {
            let (host, port) = (get("MASTER_ADDR")?, get("MASTER_PORT")?.parse::<u16>().ok()?.checked_add(1)?);
            Some(if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
        };
        let address = match get("RINGFORGE_RENDEZVOUS").or_else(master) {
            Some(address) => address,
            None if size == 1 => String::new(),
            None => {
                let why = "there is no address to meet at: set RINGFORGE_RENDEZVOUS to host:port, or MASTER_ADDR and \
                           MASTER_PORT";
                return Err(Error::Unsupported { job: format!("a launch of {size} processes"), why: why.into() });
            }
        };
        let job = JOBS.iter().find_map(|name| get(name)).unwrap_or_default();
        let token = get("RINGFORGE_TOKEN").unwrap_or_default();
        Ok(Self { local_rank, job, token, ..Self::new(rank, size, address)? })
    }

    /// The same process with this token, which all processes of the job must share.
    #[must_use]
    pub fn with_token(self, token: impl Into<String>) -> Self {
        Self { token: token.into(), ..self }
    }

    /// The same process with this time limit for waiting on other processes. The default is one minute.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// The rank among all processes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of processes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The rank among the processes of its host, usually the ordinal of its GPU.
    #[must_use]
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// The address where rank 0 listens.
    #[cfg(feature = "cuda")]
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn job(&self) -> &str {
        &self.job
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    #[cfg(feature = "cuda")]
    #[doc(hidden)]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(variables: &[(&str, &str)]) -> Result<Rank> {
        Rank::from_variables(|name| Some(variables.iter().find(|(key, _)| *key == name)?.1.to_owned()))
    }

    #[test]
    fn launcher_variables_give_rank_and_size() {
        let torchrun = [("RANK", "5"), ("WORLD_SIZE", "16"), ("LOCAL_RANK", "1")];
        let at = [("MASTER_ADDR", "node0"), ("MASTER_PORT", "29500"), ("TORCHELASTIC_RUN_ID", "a")];
        let wanted = Rank { local_rank: 1, job: "a".into(), ..Rank::new(5, 16, "node0:29501").unwrap() };
        assert_eq!(launch(&[&torchrun[..], &at[..]].concat()), Ok(wanted.clone()));
        // Ringforge's own variables take precedence
        let own = [("RINGFORGE_RENDEZVOUS", "[::1]:7"), ("RINGFORGE_TOKEN", "b")];
        let wanted = Rank { address: "[::1]:7".into(), token: "b".into(), ..wanted };
        assert_eq!(launch(&[&torchrun[..], &at[..], &own[..]].concat()), Ok(wanted));
        let srun = [("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2"), ("SLURM_LOCALID", "0"), ("SLURM_JOB_ID", "77")];
        let six = [("MASTER_ADDR", "fe80::1"), ("MASTER_PORT", "1")];
        let wanted = Rank { local_rank: 0, job: "77".into(), ..Rank::new(1, 2, "[fe80::1]:2").unwrap() };
        assert_eq!(launch(&[&srun[..], &six[..]].concat()), Ok(wanted));
        let mpirun = ["RANK", "SIZE", "LOCAL_RANK"]
            .map(|name| (format!("OMPI_COMM_WORLD_{name}"), if name == "SIZE" { "1" } else { "0" }));
        let mpirun: Vec<_> = mpirun.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(launch(&mpirun), launch(&[]), "alone");
        assert_eq!(launch(&[]), Rank::new(0, 1, ""));
    }

    #[test]
    fn missing_launcher_variables_are_named() {
        let why = |variables: &[(&str, &str)]| launch(variables).expect_err("refused").to_string();
        let torchrun = [("RANK", "0"), ("WORLD_SIZE", "2"), ("LOCAL_RANK", "0")];
        let nowhere = why(&torchrun);
        for name in ["RINGFORGE_RENDEZVOUS", "MASTER_ADDR", "MASTER_PORT"] {
            assert!(nowhere.contains(name), "{nowhere}");
        }
        assert!(why(&torchrun[..1]).contains("WORLD_SIZE"));
        assert!(why(&torchrun[..2]).contains("LOCAL_RANK"));
        assert!(why(&[("RANK", "-1")]).contains("RANK"));
        assert!(
            why(&[&[("RANK", "2")], &torchrun[1..], &[("RINGFORGE_RENDEZVOUS", "a:1")]].concat()).contains("below 2")
        );
        let last = [("MASTER_ADDR", "a"), ("MASTER_PORT", "65535")];
        assert!(why(&[&torchrun[..], &last[..]].concat()).contains("MASTER_PORT"), "there is no port after it");
        assert!(Rank::new(0, 0, "").is_err());
    }
}
