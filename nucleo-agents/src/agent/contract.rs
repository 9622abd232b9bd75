//! What an agent is: any async fn of a context and an input.
//!
//! Invariants: there is no trait for a user to implement; every fn and closure of the right shape is
//! an agent, as handlers are in a web framework.
//!
//! Not here: running agents (`fan_out`, `context`).

use std::error::Error;
use std::future::Future;

use super::context::AgentContext;

/// An async fn `(AgentContext, In) -> Result<Out, E>`. Implemented for all of them.
///
/// ```
/// use nucleo_agents::agent::Agent;
/// use nucleo_agents::prelude::*;
/// async fn shout(_ctx: AgentContext, word: String) -> Result<String, AgentError> {
///     Ok(word.to_uppercase())
/// }
/// fn name_of<A: Agent<String>>(agent: &A) -> String {
///     agent.name()
/// }
/// assert_eq!(name_of(&shout), "shout");
/// ```
pub trait Agent<In>: Send + Sync + 'static {
    /// What it answers.
    type Out: Send + 'static;
    /// How it fails.
    type Error: Into<Box<dyn Error + Send + Sync>> + Send + 'static;

    /// Its future.
    type Future: Future<Output = Result<Self::Out, Self::Error>> + Send + 'static;

    /// Runs it on one input.
    fn call(&self, context: AgentContext, input: In) -> Self::Future;

    /// Its name: the fn's, for reports and totals.
    fn name(&self) -> String {
        let path = std::any::type_name::<Self>();
        let plain = path.split('<').next().unwrap_or(path);
        let mut words = plain.rsplit("::").filter(|word| !word.starts_with('{'));
        words.next().unwrap_or("agent").to_owned()
    }
}

impl<F, In, Fut, Out, E> Agent<In> for F
where
    F: Fn(AgentContext, In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, E>> + Send + 'static,
    Out: Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
{
    type Out = Out;
    type Error = E;
    type Future = Fut;

    fn call(&self, context: AgentContext, input: In) -> Fut {
        self(context, input)
    }
}
