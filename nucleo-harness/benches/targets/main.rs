//! The targets of admission, each row measured: `cargo bench -p nucleo-harness --bench targets`.
//! `-- parked hold` after it measures these two alone.
//!
//! A target is a ratio within one run, so both of its sides take turns here, and what is told is
//! medians: a bench that times one side after the other measures the machine's mood. That is why this
//! one has its own `main`; single operations by the usual means are in `peers` and in the core's
//! `monitor`.
//!
//! - `uncontended`: against a semaphore and rate limiters; `parked`: with a long line; `refill`: many
//!   grants at one instant; `memory`: bytes a waiter; `hold`: how long the lock is held;
//! - `measure`: the clock, the medians and the rows.
//!
//! Not here: what the figures mean (`docs/benchmarks.md`); assertions, since machines differ.

mod hold;
mod measure;
mod memory;
mod parked;
mod refill;
mod uncontended;

/// Memory is first, while nothing has been freed that could hide what is allocated.
const ALL: [(&str, fn()); 5] = [
    ("memory", memory::measure),
    ("uncontended", uncontended::measure),
    ("parked", parked::measure),
    ("refill", refill::measure),
    ("hold", hold::measure),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts it too; only `cargo bench` passes this.
    if !arguments.iter().any(|argument| argument == "--bench") {
        return;
    }
    let named = |name: &str| arguments.iter().any(|argument| argument == name);
    let all = !ALL.iter().any(|(name, _)| named(name));
    measure::head();
    for (_, measure) in ALL.iter().filter(|(name, _)| all || named(name)) {
        measure();
    }
}
