//! A million jobs that wait in one process: `cargo run --release -p nucleo-harness --example million`.
//!
//! They arrive in a stream, wait, half of them are cancelled at random, and the rest is served. Prints
//! the memory of a waiting job and how long each part took. Another number may be given as argument.
//!
//! Not here: what happens to them (`crowd`); the same with twenty thousand, asserted
//! (`tests/million.rs`).

mod crowd;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let jobs = std::env::args().nth(1).map_or(Ok(1_000_000), |jobs| jobs.parse())?;
    println!("{}", crowd::run(jobs).await);
    Ok(())
}
