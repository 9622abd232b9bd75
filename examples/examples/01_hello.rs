//! The smallest program: one question to a model of the embedded loopback provider, over real HTTP.
//!
//! `cargo run --example 01_hello`

use nucleo_agents::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // With your own key: Runtime::from_catalog("models.toml")?
    let runtime = Runtime::start(Catalog::loopback())?;
    let workflow = runtime.workflow("hello").start();

    let ask = workflow.context().model(Grade::Small);
    let answer = ask.user("Say hello to the one who reads this.").output(128).text().await?;

    println!("{answer}");
    if let Some(spent) = workflow.spent() {
        println!("spent {spent}");
    }
    Ok(())
}
