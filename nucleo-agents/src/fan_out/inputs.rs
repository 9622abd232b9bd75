//! Where a fan-out's inputs come from: an iterator or a stream.
//!
//! Invariants: inputs are numbered in the order in which they are pulled; an iterator that knows its
//! length tells it.
//!
//! Not here: when one is pulled (`stream`).

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;

/// The inputs of a fan-out. Made from anything that iterates, or by [`Inputs::stream`].
pub struct Inputs<In> {
    source: Source<In>,
    pulled: usize,
}

enum Source<In> {
    Iterator(Box<dyn Iterator<Item = In> + Send>),
    Stream(Pin<Box<dyn Stream<Item = In> + Send>>),
    Ended,
}

impl<In: 'static> Inputs<In> {
    /// Inputs from a stream; how many are left is not known.
    pub fn stream(stream: impl Stream<Item = In> + Send + 'static) -> Self {
        Self { source: Source::Stream(Box::pin(stream)), pulled: 0 }
    }

    /// Inputs from an iterator.
    pub fn iter<I>(inputs: I) -> Self
    where
        I: IntoIterator<Item = In>,
        I::IntoIter: Send + 'static,
    {
        Self { source: Source::Iterator(Box::new(inputs.into_iter())), pulled: 0 }
    }

    /// The next input and its number, from 0.
    pub(super) fn poll_pull(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, In)>> {
        let next = match &mut self.source {
            Source::Iterator(iterator) => iterator.next(),
            Source::Stream(stream) => std::task::ready!(stream.as_mut().poll_next(cx)),
            Source::Ended => None,
        };
        if next.is_none() {
            self.source = Source::Ended;
        }
        let index = self.pulled;
        self.pulled += usize::from(next.is_some());
        Poll::Ready(next.map(|input| (index, input)))
    }

    /// How many are left, if that is known.
    pub(super) fn left(&self) -> Option<usize> {
        match &self.source {
            Source::Iterator(iterator) => match iterator.size_hint() {
                (low, Some(high)) if low == high => Some(low),
                _ => None,
            },
            Source::Stream(_) => None,
            Source::Ended => Some(0),
        }
    }

    /// These inputs after others that were pulled before.
    pub(super) fn after(self, first: Vec<In>) -> Self
    where
        In: Send,
    {
        match self.source {
            Source::Iterator(rest) => {
                // Both lengths stay known, for `not_submitted`.
                Self::iter(first.into_iter().chain(rest))
            }
            Source::Stream(rest) => {
                use futures_util::StreamExt as _;
                Self::stream(futures_util::stream::iter(first).chain(rest))
            }
            Source::Ended => Self::iter(first),
        }
    }

    /// As a plain iterator; `None` when the rest is a stream.
    pub fn into_iterator(self) -> Option<Box<dyn Iterator<Item = In> + Send>>
    where
        In: Send,
    {
        match self.source {
            Source::Iterator(iterator) => Some(iterator),
            Source::Stream(_) => None,
            Source::Ended => Some(Box::new(std::iter::empty())),
        }
    }
}

impl<In: 'static, I> From<I> for Inputs<In>
where
    I: IntoIterator<Item = In>,
    I::IntoIter: Send + 'static,
{
    fn from(inputs: I) -> Self {
        Self::iter(inputs)
    }
}

impl<In> fmt::Debug for Inputs<In> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inputs after {}", self.pulled)
    }
}
