//! Any bytes as exchanges on Anthropic's wire.
//!
//! Invariants: those that the check names, whatever the bytes.
//!
//! Not here: the check, which the crate's tests run too.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nucleo_fuzz::messages(bytes));
