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
    let told = crowd::run(jobs).await;
    let took = &told.took;
    println!("submitted {jobs} in {}", took.submit);
    println!("parked    {}, {} bytes resident each", told.parked, bytes_each(&told));
    println!("snapshot  of {} accounts in {}", told.seen.len(), took.snapshot);
    for account in &told.seen {
        let (name, short, named) = (&account.account, account.short, account.first.len());
        println!("          {name}: {} free, {short} short, {named} named", account.available);
    }
    println!("cancelled {} in {}, {} left", told.cancelled, took.cancel, told.left);
    println!("drained   {} in {}", told.served, took.drain);
    println!(
        "at rest   {} waiting, {} of {} connections free",
        told.waiting,
        told.free,
        crowd::CONNECTIONS
    );
    Ok(())
}

fn bytes_each(told: &crowd::Told) -> u64 {
    told.resident_bytes / u64::try_from(told.parked.max(1)).unwrap_or(u64::MAX)
}
