//! What happened in a world: a digest of every line, the story when it is asked for, counts of what
//! occurred, and the first thing that was wrong.
//!
//! A checker tells what it finds here and does not panic: it may run inside the code it watches,
//! which catches panics. A panic of that code is heard of by [`hear_panics`].

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::{Mutex, Once};

use tokio::time::Instant;

/// How often each thing occurred, by name.
pub(crate) type Counts = BTreeMap<String, u64>;

#[derive(Debug)]
pub(crate) struct Log {
    origin: Instant,
    told: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    digest: Digest,
    seen: Counts,
    wrong: Option<String>,
    lines: u64,
}

/// FNV-1a over all lines.
#[derive(Debug)]
struct Digest(u64);

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

impl Log {
    pub(crate) fn new(told: bool) -> Self {
        let digest = Digest(0xcbf2_9ce4_8422_2325);
        let inner = Inner { digest, seen: Counts::new(), wrong: None, lines: 0 };
        Self { origin: Instant::now(), told, inner: Mutex::new(inner) }
    }

    /// One event, at the present virtual instant.
    pub(crate) fn line(&self, what: fmt::Arguments<'_>) {
        let us = self.origin.elapsed().as_micros();
        if self.told {
            println!("{:>6}.{:06} {what}", us / 1_000_000, us % 1_000_000);
        }
        let mut inner = self.inner.lock().unwrap();
        let _ = writeln!(inner.digest, "{us} {what}");
        inner.lines += 1;
        if inner.lines > LINES_MAX && inner.wrong.is_none() {
            inner.wrong = Some(format!("{LINES_MAX} events, and no end: a loop"));
        }
        // A loop that takes no virtual time would never come back to the one who looks.
        assert!(inner.lines <= 2 * LINES_MAX, "a world without an end");
    }

    /// Something of this name occurred.
    pub(crate) fn saw(&self, name: &str) {
        let mut inner = self.inner.lock().unwrap();
        match inner.seen.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(inner.seen.insert(name.to_owned(), 1)),
        }
    }

    /// A check failed; the first one is kept.
    pub(crate) fn wrong(&self, what: String) {
        self.line(format_args!("WRONG: {what}"));
        self.inner.lock().unwrap().wrong.get_or_insert(what);
    }

    /// Tells when a check fails.
    pub(crate) fn check(&self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.wrong(what());
        }
    }

    /// The digest, the counts, and what was wrong.
    pub(crate) fn end(&self) -> (u64, Counts, Option<String>) {
        let mut inner = self.inner.lock().unwrap();
        (inner.digest.0, std::mem::take(&mut inner.seen), inner.wrong.take())
    }
}

const LINES_MAX: u64 = 200_000;

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// From now on panics of this process are noted on their thread. Those that a world plans are raised
/// without the hook, and are not.
pub(crate) fn hear_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.with_borrow_mut(|panics| panics.push(panic.to_string()));
            before(panic);
        }));
    });
}

/// The unplanned panics on this thread since the last call.
pub(crate) fn heard_panics() -> Vec<String> {
    PANICS.with_borrow_mut(std::mem::take)
}

/// A planned panic: as any other, without the hook's noise.
pub(crate) fn planned_panic() -> ! {
    std::panic::resume_unwind(Box::new("planned"))
}
