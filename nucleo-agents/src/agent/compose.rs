//! Helpers of composition: a race, a vote, a pipeline. All of them are plain code over calls and
//! agents; what they save is the care with errors and with what is left running.
//!
//! Invariants: what loses is dropped, so its calls are cancelled and what they owe is booked; nobody's
//! error is lost unless somebody answered.
//!
//! Not here: many inputs (`fan_out`), agents that run by themselves (`submit`).

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use futures_core::future::BoxFuture;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use super::context::AgentContext;
use super::contract::Agent;

/// Nobody answered. Holds every error, in the order of the calls.
#[derive(Debug)]
pub struct NobodyAnswered<E> {
    /// Each call's error.
    pub errors: Vec<E>,
}

/// The first of several calls that answers; the others are dropped then, which cancels them. A call
/// that fails is out, and the others go on.
///
/// Each runs from the start, so each reserves its money and its tokens: a race buys time.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nucleo_agents::agent::race;
/// use nucleo_agents::prelude::*;
/// let runtime = Runtime::start(Catalog::loopback())?;
/// let workflow = runtime.workflow("race").start();
/// let ask = |grade| workflow.context().model(grade).user("Quick!").output(32).text();
/// let first = race([ask(Grade::Small), ask(Grade::Medium)]).await?;
/// assert!(!first.is_empty());
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`NobodyAnswered`] when all of them failed, or there were none.
///
/// # Cancel safety
/// Dropping the future drops every call.
pub async fn race<T, E, Call>(calls: impl IntoIterator<Item = Call>) -> Result<T, NobodyAnswered<E>>
where
    Call: Future<Output = Result<T, E>>,
{
    let numbered = calls.into_iter().enumerate();
    let mut running: FuturesUnordered<_> =
        numbered.map(|(number, call)| async move { (number, call.await) }).collect();
    let mut errors = Vec::new();
    while let Some((number, ended)) = running.next().await {
        match ended {
            Ok(answer) => return Ok(answer),
            Err(error) => errors.push((number, error)),
        }
    }
    errors.sort_by_key(|(number, _)| *number);
    Err(NobodyAnswered { errors: errors.into_iter().map(|(_, error)| error).collect() })
}

/// What several calls answered, counted.
#[derive(Debug)]
pub struct Vote<T, E> {
    /// Each answer with how many gave it, most first; of equals the one that a call before the others'
    /// gave.
    pub answers: Vec<(T, usize)>,
    /// The errors of those that did not answer.
    pub errors: Vec<E>,
}

impl<T, E> Vote<T, E> {
    /// The answer that more than half of all calls gave, those included that failed.
    #[must_use]
    pub fn majority(&self) -> Option<&T> {
        let cast = self.answers.iter().map(|(_, votes)| votes).sum::<usize>() + self.errors.len();
        self.answers.first().filter(|(_, votes)| votes * 2 > cast).map(|(answer, _)| answer)
    }

    /// The answer that most gave.
    #[must_use]
    pub fn most(&self) -> Option<&T> {
        self.answers.first().map(|(answer, _)| answer)
    }
}

/// Asks several times and counts equal answers. All of them are awaited.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use nucleo_agents::agent::vote;
/// let said = ["yes", "no", "yes"].map(|word| async move { Ok::<_, String>(word) });
/// let vote = vote(said).await;
/// assert_eq!(vote.majority(), Some(&"yes"));
/// assert_eq!(vote.answers, [("yes", 2), ("no", 1)]);
/// # }
/// ```
///
/// # Cancel safety
/// Dropping the future drops every call.
pub async fn vote<T, E, Call>(calls: impl IntoIterator<Item = Call>) -> Vote<T, E>
where
    T: PartialEq,
    Call: Future<Output = Result<T, E>>,
{
    let mut vote = Vote { answers: Vec::<(T, usize)>::new(), errors: Vec::new() };
    for ended in futures_util::future::join_all(calls).await {
        match ended {
            Err(error) => vote.errors.push(error),
            Ok(answer) => match vote.answers.iter_mut().find(|(known, _)| *known == answer) {
                Some((_, votes)) => *votes += 1,
                None => vote.answers.push((answer, 1)),
            },
        }
    }
    // Stable: of equals the earlier stays first.
    vote.answers.sort_by_key(|(_, votes)| std::cmp::Reverse(*votes));
    vote
}

/// Two agents, one after the other: what the first answers is the second's input. An agent itself, so
/// it can be fanned out, where each item goes on to its second stage as soon as it is through the
/// first, and it can be a stage of another pipeline.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nucleo_agents::agent::pipeline;
/// use nucleo_agents::prelude::*;
/// async fn number(_: AgentContext, text: &'static str) -> Result<u32, AgentError> {
///     text.parse().map_err(AgentError::other)
/// }
/// async fn twice(_: AgentContext, number: u32) -> Result<u32, AgentError> {
///     Ok(number * 2)
/// }
/// let runtime = Runtime::start(Catalog::loopback())?;
/// let workflow = runtime.workflow("numbers").start();
/// let report = workflow.fan_out(["1", "two", "3"], pipeline(number, twice)).ordered().collect().await;
/// assert_eq!((report.answered(), report.failed()), (2, 1));
/// # Ok(()) }
/// ```
pub const fn pipeline<First, Second, In>(
    first: First,
    second: Second,
) -> Pipeline<First, Second, In> {
    Pipeline { first, second, takes: PhantomData }
}

/// Two agents, one after the other; see [`pipeline`].
#[derive(Clone, Debug)]
pub struct Pipeline<First, Second, In> {
    first: First,
    second: Second,
    takes: PhantomData<fn(In)>,
}

impl<First, Second, In> Agent<In> for Pipeline<First, Second, In>
where
    First: Agent<In> + Clone,
    Second: Agent<First::Out> + Clone,
    First::Error: Into<Second::Error>,
    In: Send + 'static,
{
    type Out = Second::Out;
    type Error = Second::Error;
    type Future = BoxFuture<'static, Result<Second::Out, Second::Error>>;

    fn call(&self, context: AgentContext, input: In) -> Self::Future {
        let (first, second) = (self.first.clone(), self.second.clone());
        Box::pin(async move {
            let between = context.run(first, input).await.map_err(Into::into)?;
            context.run(second, between).await
        })
    }

    fn name(&self) -> String {
        format!("{} | {}", self.first.name(), self.second.name())
    }
}

impl<E: fmt::Display> fmt::Display for NobodyAnswered<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "none of {} calls answered", self.errors.len())?;
        match self.errors.first() {
            Some(first) => write!(f, "; the first: {first}"),
            None => Ok(()),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> Error for NobodyAnswered<E> {}
