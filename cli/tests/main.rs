//! Tests the `ringforge` command as a user runs it.

mod command;
