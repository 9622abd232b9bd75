//! Catalogs as data: what loads, what does not and the exact words, what can be called.

mod errors;
mod errors_entries;
mod loads;
