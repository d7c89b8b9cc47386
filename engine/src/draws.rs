//! Draws in memory of a device, for one run.

use crate::device::{Buffer, Stream};
use crate::drbg::Drbg;
use crate::error::Result;

impl Drbg {
    /// One run that draws for items 0 to `items`: calls `run` with fresh draws in memory of the stream's device, to be
    /// given to one [`Program::run`](crate::Program::run) on this stream, and wipes that memory after it, however it ends.
    ///
    /// This is how programs should be given randomness: the buffer does not outlive its run, so it cannot be given to
    /// a second one by mistake. For [`Program::run_host`](crate::Program::run_host), reserve before each call.
    ///
    /// # Errors
    /// As [`Drbg::reserve`] and [`Stream::upload`]; what `run` returns.
    pub fn with_draws<T>(&self, stream: &Stream, items: u64, run: impl FnOnce(&Buffer) -> Result<T>) -> Result<T> {
        let mut buffer = stream.upload_secret(self.reserve(items)?.as_bytes())?;
        let value = run(&buffer)?;
        buffer.memory.wipe(stream.queue()).map(|()| value)
    }
}
