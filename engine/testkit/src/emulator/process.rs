//! A child process that runs one kernel, and the requests sent to it. `runner.cpp` documents their format.

use core::ops::Range;
use core::time::Duration;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use ringforge_math::error::{Error, Result};
use ringforge_runtime::kernel::{Grid, Launch};

/// Maximum bytes of a sanitizer's report in an error.
const REPORT_BYTES: u64 = 8 << 10;

/// A program that runs a kernel in a child process. The process is started on first use, and again if it has ended.
pub(crate) struct Runner {
    kernel: String,
    /// Finds or compiles the program, and checks that no other user could have written it. Called each time the process
    /// is started.
    program: Box<dyn Fn() -> Result<PathBuf> + Send + Sync>,
    launch: Launch,
    /// The kernel's run-time constants, which are passed after its pointers.
    numbers: Vec<u64>,
    timeout: Duration,
    process: Mutex<Option<Process>>,
}

/// The memory of one port in a request, and the byte offset in the memory to which the port's pointer refers.
pub(super) struct Part {
    pub(super) memory: Contents,
    pub(super) first: usize,
}

/// The contents of one port's memory in a request.
pub(super) enum Contents {
    /// Memory that is not shared with earlier ports, with these contents.
    Own(Vec<u8>),
    /// The memory of the earlier port with this index, which has this length.
    Alias { port: usize, length: usize },
    /// Pointers to tables with these contents.
    List(Vec<Vec<u8>>),
}

impl Runner {
    pub(super) fn new(
        kernel: String,
        program: impl Fn() -> Result<PathBuf> + Send + Sync + 'static,
        (launch, numbers): (Launch, Vec<u64>),
        timeout: Duration,
    ) -> Self {
        Self { kernel, program: Box::new(program), launch, numbers, timeout, process: Mutex::default() }
    }

    /// Whether a block may process several items together (batch blocking). A block with fewer items may then compute
    /// them in a different way.
    pub(super) fn takes_items_together(&self) -> bool {
        self.launch.together > 1
    }

    /// Runs the kernel for a range of items, or for some blocks of one item, with threads in the order that `schedule`
    /// selects. Returns the contents of each port's memory afterwards.
    pub(super) fn run(
        &self,
        schedule: u64,
        items: &Range<usize>,
        blocks: Option<&Range<usize>>,
        ports: &[Part],
    ) -> Result<Vec<Vec<u8>>> {
        let request = self.request(schedule, self.launch.grid(items, blocks)?, ports);
        let mut slot = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let mut process = match slot.take() {
            Some(process) => process,
            None => {
                let start = Process::start(&(self.program)()?);
                start.map_err(|e| self.error(format!("its runner does not start: {e}")))?
            }
        };
        let (exchanged, late) = process.exchange(&request, self.timeout);
        let response = match exchanged {
            Ok(response) => response,
            Err(_) if late => return Err(self.error(format!("did not end within {:?}", self.timeout))),
            Err(e) => return Err(self.error(format!("crashed its runner: {}", process.last_words(&e)))),
        };
        *slot = Some(process);
        if response.status != 0 {
            return Err(self.error(format!("{} (schedule {schedule}, items {items:?})", response.message)));
        }
        Ok(response.ports)
    }

    pub(super) fn error(&self, why: String) -> Error {
        Error::Kernel { kernel: self.kernel.clone(), why }
    }

    fn request(&self, schedule: u64, grid: Grid, ports: &[Part]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut word = |value: u64, contents: &[u8]| {
            bytes.extend_from_slice(&value.to_le_bytes());
            bytes.extend_from_slice(contents);
        };
        word(grid.blocks.into(), &[]);
        word(self.launch.threads.into(), &[]);
        word(self.launch.cluster.into(), &[]);
        word(self.launch.shared_bytes.into(), &[]);
        word(schedule, &[]);
        word(grid.first, &[]);
        word(grid.end, &[]);
        word(self.numbers.len() as u64, &[]);
        self.numbers.iter().for_each(|&number| word(number, &[]));
        word(ports.len() as u64, &[]);
        for part in ports {
            word(part.first as u64, &[]);
            match &part.memory {
                Contents::Own(contents) => {
                    word(u64::MAX, &[]);
                    word(contents.len() as u64, contents);
                }
                Contents::Alias { port, length } => {
                    word(*port as u64, &[]);
                    word(*length as u64, &[]);
                }
                Contents::List(tables) => {
                    word(u64::MAX - 1, &[]);
                    word(tables.len() as u64, &[]);
                    tables.iter().for_each(|table| word(table.len() as u64, table));
                }
            }
        }
        bytes
    }
}

impl core::fmt::Debug for Runner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Runner({})", self.kernel)
    }
}

#[derive(Debug)]
struct Process {
    child: Child,
    requests: Option<BufWriter<ChildStdin>>,
    responses: BufReader<ChildStdout>,
    /// Collects what the process writes to standard error.
    report: Option<JoinHandle<String>>,
}

struct Response {
    status: u64,
    message: String,
    ports: Vec<Vec<u8>>,
}

impl Process {
    fn start(program: &PathBuf) -> io::Result<Self> {
        let piped = Stdio::piped;
        let mut child = Command::new(program).stdin(piped()).stdout(piped()).stderr(piped()).spawn()?;
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let requests = BufWriter::new(child.stdin.take().ok_or_else(closed)?);
        let responses = BufReader::new(child.stdout.take().ok_or_else(closed)?);
        let mut errors = child.stderr.take().ok_or_else(closed)?;
        let report = thread::Builder::new().spawn(move || {
            let mut start = Vec::new();
            // a read error is ignored: the report ends with what was read before it
            let _ = errors.by_ref().take(REPORT_BYTES).read_to_end(&mut start);
            let _ = io::copy(&mut errors, &mut io::sink());
            String::from_utf8_lossy(&start).into_owned()
        });
        let report = report.inspect_err(|_| {
            // errors are ignored: the process may already have ended
            let _ = child.kill();
            let _ = child.wait();
        })?;
        Ok(Self { child, requests: Some(requests), responses, report: Some(report) })
    }

    /// Sends a request and receives the response. If that takes longer than `timeout`, kills the process; the second
    /// result is then true.
    fn exchange(&mut self, request: &[u8], timeout: Duration) -> (io::Result<Response>, bool) {
        let Self { child, requests, responses, .. } = self;
        let (done, wait) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let watch = thread::Builder::new().spawn_scoped(scope, move || {
                let late = wait.recv_timeout(timeout) == Err(RecvTimeoutError::Timeout);
                late && child.kill().is_ok()
            });
            let watch = match watch {
                Ok(watch) => watch,
                Err(error) => return (Err(error), false),
            };
            let sent = requests.as_mut().map_or(Ok(()), |to| to.write_all(request).and_then(|()| to.flush()));
            let response = sent.and_then(|()| receive(responses));
            drop(done);
            (response, watch.join().unwrap_or(false))
        })
    }

    /// Waits until the process has ended. Returns its exit status, `error`, and the start of what it wrote to standard
    /// error.
    fn last_words(&mut self, error: &io::Error) -> String {
        self.requests = None;
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        let report = self.report.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        format!("{status}, {error}\n{report}")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // errors are ignored: the process may already have ended
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn receive(from: &mut impl Read) -> io::Result<Response> {
    let status = word(from)?;
    let message = String::from_utf8_lossy(&contents(from)?).into_owned();
    let ports = (0..word(from)?).map(|_| contents(from)).collect::<io::Result<_>>()?;
    Ok(Response { status, message, ports })
}

fn word(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn contents(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = word(from)?;
    let mut bytes = Vec::new();
    from.by_ref().take(length).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
}
