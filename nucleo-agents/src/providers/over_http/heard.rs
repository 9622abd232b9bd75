//! A watch for tests that writes down what it hears.
//!
//! Invariants: in the order in which it was told, nothing left out.
//!
//! Not here: the exchanges (each provider's tests).

use nucleo_core::Usage;

use crate::wire::{CallWatch, HeadFacts};

/// Everything a watch hears, as one line.
#[derive(Default)]
pub(crate) struct Heard(pub(crate) String);

impl CallWatch for Heard {
    fn leaving(&mut self) {
        self.0.push_str("leaving ");
    }
    fn could_not_connect(&mut self) {
        self.0.push_str("unconnected ");
    }
    fn head(&mut self, head: &HeadFacts) {
        self.0.push_str(&format!("head={} ", head.status));
    }
    fn usage(&mut self, usage: Usage) {
        self.0.push_str(&format!("usage={}+{} ", usage.input_total(), usage.output_total()));
    }
    fn usage_outdated(&mut self) {
        self.0.push_str("usage=outdated ");
    }
    fn piece(&mut self, text: &str) {
        self.0.push_str(&format!("`{text}` "));
    }
}
