//! Tests the `ringforge-bench` command as a user runs it.

mod command;
