//! What the workspace's tests share.

pub mod arithmetic;
pub mod catalogue;
pub mod cosets;
pub mod mix;
pub mod shape;
pub mod shared_out;
pub mod sponge;
