//! What the workspace's tests share.

pub mod catalogue;
pub mod mix;
pub mod shape;
