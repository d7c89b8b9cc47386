//! The control connections between the processes of a launch (a job of several processes, [`Rank`]): a TCP connection
//! between the first process and each of the others. Over these connections the processes meet, check that they agree,
//! and learn if a process has ended. Data of transforms is not sent over them.

use core::fmt::Display;
use core::time::Duration;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use sha2::{Digest, Sha256};

use crate::communicator::{after, differs};
use crate::launch::Rank;
use ringforge_math::error::{Error, Result};

/// Pause between attempts to connect, and between polls for new connections.
const PAUSE: Duration = Duration::from_millis(5);

/// A new connection must send its whole greeting (first message) within this time.
const GREETING: Duration = Duration::from_secs(2);

/// Bytes of a greeting: the job's hash (32), the rank (4) and the number of processes (4).
const GREETING_BYTES: usize = 40;

/// The number of connections with an incomplete greeting is at most this plus the number of processes.
const MOST_GUESTS: usize = 64;

/// The first process's answer in [`Control::agree`] if no rank differs.
const NONE: u32 = u32::MAX;

/// One process's control connections to the other processes of a launch.
#[derive(Debug)]
pub struct Control {
    rank: usize,
    timeout: Duration,
    /// The connections, each with the rank at its other end: all other ranks in the first process, and only rank 0 in
    /// the others. `None` after [`Control::abandon`].
    peers: Mutex<Option<Peers>>,
}

type Peers = Vec<(usize, TcpStream)>;

impl Control {
    /// Connects this process with the others of its launch. Returns when all processes have connected.
    #[doc(hidden)]
    pub fn join(launch: &Rank) -> Result<Self> {
        check_token(launch)?;
        let (rank, timeout, deadline) = (launch.rank(), launch.timeout(), after(launch.timeout()));
        let peers = if rank == 0 { gather(launch, deadline)? } else { vec![(0, reach(launch, deadline)?)] };
        let this = Self { rank, timeout, peers: Mutex::new(Some(peers)) };
        // the first process sends a byte after all have connected, and the others wait for it
        this.share_until(&mut [0], deadline)?;
        Ok(this)
    }

    /// Calls `work` with the connections. Returns an error if this process has abandoned them.
    fn with(&self, work: impl FnOnce(&mut Peers) -> Result<()>) -> Result<()> {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        work(peers.as_mut().ok_or_else(|| ended(self.rank))?)
    }

    /// Copies `bytes` of the first process to `bytes` of every other process.
    #[doc(hidden)]
    pub fn share(&self, bytes: &mut [u8]) -> Result<()> {
        self.share_until(bytes, after(self.timeout))
    }

    fn share_until(&self, bytes: &mut [u8], deadline: Instant) -> Result<()> {
        self.with(|peers| {
            peers.iter_mut().try_for_each(|(rank, stream)| match self.rank {
                0 => send(stream, *rank, bytes),
                _ => receive(stream, *rank, bytes, deadline),
            })
        })
    }

    /// Checks that all processes passed the same string `what`. If they did not, every process gets an error.
    pub(crate) fn agree(&self, what: &str) -> Result<()> {
        let (own, deadline) = (<[u8; 32]>::from(Sha256::digest(what)), after(self.timeout));
        let (mut theirs, mut other) = ([0; 32], NONE.to_le_bytes());
        self.with(|peers| {
            if self.rank > 0 {
                return peers.iter_mut().try_for_each(|(rank, stream)| {
                    send(stream, *rank, &own)?;
                    receive(stream, *rank, &mut other, deadline)
                });
            }
            for (rank, stream) in peers.iter_mut() {
                receive(stream, *rank, &mut theirs, deadline)?;
                if theirs != own {
                    other = (*rank as u32).to_le_bytes();
                }
            }
            peers.iter_mut().try_for_each(|(rank, stream)| send(stream, *rank, &other))
        })?;
        match u32::from_le_bytes(other) {
            NONE => Ok(()),
            // this process is the one that differs, so its error names the first process
            rank if rank as usize == self.rank => Err(differs(0)),
            rank => Err(differs(rank as usize)),
        }
    }

    /// Returns an error if a connected process is known to have ended.
    pub(crate) fn check(&self) -> Result<()> {
        self.with(|peers| {
            peers.iter().try_for_each(|(rank, stream)| {
                stream.set_nonblocking(true).map_err(|error| lost(*rank, error))?;
                let seen = stream.peek(&mut [0]);
                stream.set_nonblocking(false).map_err(|error| lost(*rank, error))?;
                match seen {
                    Ok(0) => Err(ended(*rank)),
                    Err(error) if error.kind() != ErrorKind::WouldBlock => Err(lost(*rank, error)),
                    // the process has sent nothing, or has already sent its part of the next call
                    _ => Ok(()),
                }
            })
        })
    }

    /// Closes the connections, which tells the other processes that this one has stopped.
    pub(crate) fn abandon(&self) {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Returns an error if the launch has no token and its address is not loopback. Without a token, any process on the
/// network that connects first would be accepted as one of the job.
fn check_token(launch: &Rank) -> Result<()> {
    // an address that cannot be resolved passes this check, and leads to an error when it is used
    launch.address().to_socket_addrs().into_iter().flatten().try_for_each(|address| check_address(launch, address))
}

/// Like [`check_token`], for the address that is actually used, because a host name may be resolved differently each
/// time.
fn check_address(launch: &Rank, address: SocketAddr) -> Result<()> {
    if !launch.token().is_empty() || address.ip().is_loopback() {
        return Ok(());
    }
    Err(Error::Unsupported {
        job: format!("a launch of {} processes at {}", launch.size(), launch.address()),
        why: "an address other than loopback needs a token: set RINGFORGE_TOKEN, or call Launch::with_token".into(),
    })
}

/// Accepts a connection from every other process; called in the first process. All connections with an incomplete
/// greeting are polled together, so that none of them can delay the others or the deadline.
fn gather(launch: &Rank, deadline: Instant) -> Result<Peers> {
    let cannot = |error: std::io::Error| lost(0, format!("cannot listen at {}: {error}", launch.address()));
    let listener = TcpListener::bind(launch.address()).map_err(cannot)?;
    check_address(launch, listener.local_addr().map_err(cannot)?)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let mut peers: Vec<Option<TcpStream>> = (1..launch.size()).map(|_| None).collect();
    let mut guests: VecDeque<Guest> = VecDeque::new();
    while let Some(missing) = peers.iter().position(Option::is_none) {
        if Instant::now() >= deadline {
            let why = format!("did not connect to {} within {:?}", launch.address(), launch.timeout());
            return Err(lost(missing + 1, why));
        }
        let came = listener.accept();
        let is_full = came.as_ref().is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
        let came = came.ok().and_then(|(stream, _)| Guest::new(stream));
        let nobody = came.is_none();
        guests.extend(came);
        // drop the oldest guest, so that foreign connections cannot use up all connections that this process may have
        if is_full || guests.len() > MOST_GUESTS + launch.size() {
            guests.pop_front();
        }
        for mut guest in core::mem::take(&mut guests) {
            match guest.listen() {
                Heard::Nothing => {}
                Heard::Part => guests.push_back(guest),
                Heard::Greeting => {
                    // a second connection of a rank replaces the first one, which the rank has lost
                    if let Some((rank, stream)) = welcome(guest, launch)? {
                        peers[rank - 1] = Some(stream);
                    }
                }
            }
        }
        if nobody {
            std::thread::sleep(PAUSE);
        }
    }
    Ok((1..).zip(peers.into_iter().flatten()).collect())
}

/// A connection that has not sent its whole greeting.
struct Guest {
    stream: TcpStream,
    greeting: [u8; GREETING_BYTES],
    received: usize,
    until: Instant,
}

/// The state of a guest's greeting.
enum Heard {
    /// The connection has ended, or the greeting did not arrive in time.
    Nothing,
    Part,
    Greeting,
}

impl Guest {
    fn new(stream: TcpStream) -> Option<Self> {
        stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).ok()?;
        Some(Self { stream, greeting: [0; GREETING_BYTES], received: 0, until: Instant::now() + GREETING })
    }

    /// Reads the bytes that have arrived, without waiting, and returns the state of the greeting.
    fn listen(&mut self) -> Heard {
        match self.stream.read(&mut self.greeting[self.received..]) {
            Ok(0) => return Heard::Nothing,
            Ok(count) => self.received += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => return Heard::Nothing,
        }
        match self.received {
            GREETING_BYTES => Heard::Greeting,
            _ if Instant::now() < self.until => Heard::Part,
            _ => Heard::Nothing,
        }
    }
}

/// Checks a guest's complete greeting, and returns the guest's rank and stream. Returns `None` if the greeting has the
/// hash of a different job or rank 0, or if the connection fails. Returns an error if the number of processes in the
/// greeting differs from that of `launch`, or if the rank is not below that number.
fn welcome(Guest { stream, greeting, .. }: Guest, launch: &Rank) -> Result<Option<(usize, TcpStream)>> {
    let number = |at: usize| greeting[at..at + 4].iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte));
    let (job, rank, size) = (&greeting[..32], number(32), number(36));
    if job != of_job(launch) || rank == 0 || stream.set_nonblocking(false).is_err() {
        return Ok(None);
    }
    if size != launch.size() || rank >= size {
        return Err(lost(
            rank,
            format!("was launched as one of {size} processes, but rank 0 as one of {}", launch.size()),
        ));
    }
    Ok(Some((rank, stream)))
}

/// Connects to the first process and sends this process's greeting. Retries until the first process listens or the
/// deadline has passed.
fn reach(launch: &Rank, deadline: Instant) -> Result<TcpStream> {
    let greeting = [&of_job(launch)[..], &(launch.rank() as u32).to_le_bytes(), &(launch.size() as u32).to_le_bytes()];
    let left = || deadline.saturating_duration_since(Instant::now());
    loop {
        let connected = launch.address().to_socket_addrs().and_then(|addresses| {
            let mut failure = std::io::Error::new(ErrorKind::NotFound, "unknown host");
            for address in addresses {
                match TcpStream::connect_timeout(&address, left().max(PAUSE)) {
                    Ok(stream) => return Ok(stream),
                    Err(error) => failure = error,
                }
            }
            Err(failure)
        });
        match connected {
            Ok(mut stream) => {
                check_address(launch, stream.peer_addr().map_err(|error| lost(0, error))?)?;
                stream.set_nodelay(true).map_err(|error| lost(0, error))?;
                return send(&mut stream, 0, &greeting.concat()).map(|()| stream);
            }
            Err(error) if left().is_zero() => {
                return Err(lost(0, format!("cannot be reached at {}: {error}", launch.address())));
            }
            Err(_) => std::thread::sleep(PAUSE.min(left())),
        }
    }
}

/// SHA-256 of the data that all processes of a job share: the crate's version, the job's name and the token.
fn of_job(launch: &Rank) -> [u8; 32] {
    let parts = ["ringforge", env!("CARGO_PKG_VERSION"), launch.job(), launch.token()];
    Sha256::digest(parts.join("\0")).into()
}

fn send(stream: &mut TcpStream, rank: usize, bytes: &[u8]) -> Result<()> {
    stream.write_all(bytes).map_err(|error| lost(rank, error))
}

fn receive(stream: &mut TcpStream, rank: usize, mut into: &mut [u8], deadline: Instant) -> Result<()> {
    while !into.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(lost(rank, "did not answer in time"));
        }
        let received = stream.set_read_timeout(Some(left)).and_then(|()| stream.read(into));
        match received.map_err(|error| (error.kind(), error)) {
            Ok(0) => return Err(ended(rank)),
            Ok(count) => into = &mut into[count..],
            Err((ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut, _)) => {}
            Err((_, error)) => return Err(lost(rank, error)),
        }
    }
    Ok(())
}

fn ended(rank: usize) -> Error {
    lost(rank, "has ended")
}

fn lost(rank: usize, why: impl Display) -> Error {
    Error::Rank { rank, why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::each_on_its_own;

    /// The launches of `size` processes that meet at a local TCP port that was free a moment ago.
    fn launches(size: usize, timeout: Duration) -> Vec<Rank> {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let of = |rank| Rank::new(rank, size, free.to_string()).unwrap().with_token("a job").with_timeout(timeout);
        (0..size).map(of).collect()
    }

    fn each<T: Send>(launches: Vec<Rank>, run: impl Fn(Rank) -> T + Sync) -> Vec<T> {
        let run = &run;
        each_on_its_own(launches.into_iter().map(|launch| move || run(launch)).collect()).unwrap()
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn processes_find_one_another_and_agree() {
        for size in [1, 2, 3, 8] {
            // the longest possible timeout must not overflow
            let timeout = if size == 2 { Duration::MAX } else { LONG };
            let outcomes = each(launches(size, timeout), |launch| {
                std::thread::sleep(PAUSE * (3 * launch.rank() as u32 % 4)); // ranks do not connect in order
                let control = Control::join(&launch)?;
                let mut id = [launch.rank() as u8 + 7; 128];
                control.share(&mut id)?;
                assert_eq!(id, [7; 128], "what the first one has");
                control.agree("the same")?;
                control.check()?;
                control.agree("the same again")?;
                let outcome = control.agree(if launch.rank() + 1 == size { "another" } else { "one" });
                Ok::<_, Error>(outcome)
            });
            for (rank, outcome) in outcomes.into_iter().enumerate() {
                let differing = if rank + 1 == size { 0 } else { size - 1 };
                let wanted = if size == 1 { Ok(()) } else { Err(differs(differing)) };
                assert_eq!(outcome, Ok(wanted), "{rank} of {size}");
            }
        }
    }

    #[test]
    fn strangers_are_ignored() {
        let outcomes = each(launches(2, LONG), |launch| {
            if launch.rank() == 1 {
                let stranger = |launch: Rank| reach(&launch, Instant::now() + LONG);
                let _other_job = stranger(launch.clone().with_token("another job"))?;
                let _silent = TcpStream::connect(launch.address());
                let _first = stranger(Rank::new(0, 2, launch.address())?.with_token("a job"))?;
                return Control::join(&launch)?.agree("the same");
            }
            Control::join(&launch)?.agree("the same")
        });
        assert_eq!(outcomes, [Ok(()), Ok(())]);
    }

    #[test]
    fn strangers_do_not_delay_the_deadline() {
        let launch = launches(2, Duration::from_millis(500)).remove(0);
        let (address, done) = (launch.address().to_owned(), std::sync::atomic::AtomicBool::new(false));
        let (began, outcome) = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut silent = Vec::new();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    silent.extend(TcpStream::connect(&address));
                    std::thread::sleep(20 * PAUSE);
                }
            });
            let began = Instant::now();
            let outcome = Control::join(&launch);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            (began.elapsed(), outcome)
        });
        assert!(matches!(outcome, Err(Error::Rank { rank: 1, .. })), "{outcome:?}");
        assert!(began < Duration::from_secs(2), "{began:?}");
    }

    #[test]
    fn strangers_do_not_delay_ranks() {
        let outcomes = each(launches(2, LONG), |launch| {
            let mut silent = Vec::new();
            if launch.rank() == 1 {
                std::thread::sleep(20 * PAUSE);
                silent.extend((0..100).filter_map(|_| TcpStream::connect(launch.address()).ok()));
            }
            let began = Instant::now();
            Control::join(&launch)?.agree("the same")?;
            Ok::<_, Error>(began.elapsed())
        });
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(time) if *time < GREETING)), "{outcomes:?}");
    }

    #[test]
    fn a_network_address_needs_a_token() {
        for rank in [0, 1] {
            let launch = Rank::new(rank, 2, "0.0.0.0:0").unwrap().with_timeout(Duration::from_millis(100));
            let refused = Control::join(&launch);
            assert!(
                matches!(&refused, Err(Error::Unsupported { why, .. }) if why.contains("RINGFORGE_TOKEN")),
                "{refused:?}"
            );
            assert!(matches!(Control::join(&launch.with_token("a job")), Err(Error::Rank { .. })));
        }
        // a host name that is not resolved in the first check, so that only the check of the address in use can fail
        let launch = Rank::new(1, 2, "nowhere.invalid:1").unwrap();
        let address = |ip: [u8; 4]| check_address(&launch, (ip, 1).into());
        assert!(check_token(&launch).is_ok() && address([127, 0, 0, 1]).is_ok() && address([10, 0, 0, 1]).is_err());
    }

    #[test]
    fn a_wrong_number_of_processes_is_reported() {
        let outcomes = each(launches(2, LONG), |launch| match launch.rank() {
            0 => Control::join(&launch).map(drop),
            _ => Control::join(&Rank::new(1, 3, launch.address())?.with_token("a job")).map(drop),
        });
        assert!(
            matches!(&outcomes[0], Err(Error::Rank { rank: 1, why }) if why.contains("3 processes")),
            "{outcomes:?}"
        );
        assert!(matches!(&outcomes[1], Err(Error::Rank { rank: 0, .. })), "{outcomes:?}");
    }

    #[test]
    fn missing_and_ended_ranks_are_named() {
        let short = Duration::from_millis(100);
        for rank in [0, 1] {
            let alone = Control::join(&launches(2, short).remove(rank));
            assert!(matches!(&alone, Err(Error::Rank { rank: other, .. }) if *other == 1 - rank), "{alone:?}");
        }
        let nowhere = Control::join(&Rank::new(0, 2, "no address").unwrap());
        assert!(matches!(&nowhere, Err(Error::Rank { rank: 0, why }) if why.contains("no address")), "{nowhere:?}");
        let began = Instant::now();
        let outcomes = each(launches(3, LONG), |launch| {
            let control = Control::join(&launch)?;
            if launch.rank() == 2 {
                control.abandon();
                return control.check();
            }
            while control.check().is_ok() {
                std::thread::sleep(PAUSE);
            }
            let heard = control.check();
            control.abandon(); // closes the connections, which tells the others
            heard
        });
        assert!(matches!(outcomes[0], Err(Error::Rank { rank: 2, .. })), "{outcomes:?}");
        assert!(matches!(outcomes[1], Err(Error::Rank { rank: 0, .. })), "{outcomes:?}");
        assert!(matches!(outcomes[2], Err(Error::Rank { rank: 2, .. })), "{outcomes:?}");
        assert!(began.elapsed() < LONG / 2, "nobody waited for the timeout");
    }
}
