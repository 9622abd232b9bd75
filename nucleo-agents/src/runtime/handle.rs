//! The runtime's handle, and its settings.
//!
//! Invariants: started once, from a catalog that was loaded strictly; every callable entry has a
//! route before the first call.
//!
//! Not here: the harness below (`nucleo_harness`), setting up providers (`setup`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nucleo_core::admission::Policy;
use nucleo_core::limits::RetryShare;
use nucleo_core::spend::{Position, ScopeId};
use nucleo_core::{AccountId, Money, Monitor, Reserved, Span};
use nucleo_harness::admission::Admission;
use nucleo_harness::attempt::History;
use nucleo_harness::memory::MemoryWatch;
use nucleo_harness::runtime::{Clock, TokioClock};
use nucleo_harness::workflow::{Harness, Journal};
use tokio_util::sync::DropGuard;

use super::accounts::Accounts;
use super::caps::{CapError, Days};
use super::error::StartError;
use super::midnight::{self, Stop};
use super::route::Route;
use super::setup::Setup;
use crate::call::Question;
use crate::catalog::{Catalog, Credentials, Grade};
use crate::counting::TextSize;
use crate::picker::{NothingCallable, Picker, Request};
#[cfg(feature = "loopback")]
use crate::providers::loopback::Loopback;
use crate::transport::Transport;
use crate::workflow::WorkflowBuilder;

/// How many calls are under way at once, unless told: places in the HTTP pool.
pub const CONNECTIONS_DEFAULT: u64 = 256;

/// A catalog brought to life: what workflows run on. Cheap to clone.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nucleo_agents::prelude::*;
/// let runtime = Runtime::start(Catalog::loopback())?;
/// let workflow = runtime.workflow("greeting").cap("0.01 USD".parse()?).start();
/// let text = workflow.context().model(Grade::Small).user("Say hello.").output(64).text().await?;
/// assert!(!text.is_empty());
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Runtime {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    harness: Harness,
    picker: Picker,
    http: AccountId,
    routes: BTreeMap<Arc<str>, Arc<Route>>,
    #[cfg(feature = "loopback")]
    servers: Vec<Loopback>,
    days: Days,
    stop: Stop,
    _stops: DropGuard,
}

/// A runtime's settings.
#[must_use = "a runtime begins with `start`"]
pub struct RuntimeBuilder {
    catalog: Catalog,
    credentials: Option<Credentials>,
    connections: u64,
    transport: Option<Arc<dyn Transport>>,
    clock: Option<Arc<dyn Clock>>,
    journal: Option<Arc<dyn Journal>>,
    policy: Policy,
    memory: Option<MemoryWatch>,
    seed: Option<u64>,
    retry_share: RetryShare,
    caps: Vec<(ScopeId, Money)>,
}

impl Runtime {
    /// Starts a runtime from a catalog's file, with the keys of the environment.
    ///
    /// # Errors
    /// [`StartError`], by what is wrong with the catalog, a provider or a limit.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn from_catalog(path: impl AsRef<Path>) -> Result<Self, StartError> {
        Self::start(Catalog::load(path)?)
    }

    /// Starts a runtime from a catalog, with the keys of the environment.
    ///
    /// # Errors
    /// As [`Runtime::from_catalog`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(catalog: Catalog) -> Result<Self, StartError> {
        Self::builder(catalog).start()
    }

    /// A runtime to be configured.
    pub fn builder(catalog: Catalog) -> RuntimeBuilder {
        RuntimeBuilder {
            catalog,
            credentials: None,
            connections: CONNECTIONS_DEFAULT,
            transport: None,
            clock: None,
            journal: None,
            policy: Policy::fifo(),
            memory: None,
            seed: None,
            retry_share: RetryShare::DEFAULT,
            caps: Vec::new(),
        }
    }

    /// A workflow to be configured and started.
    pub fn workflow(&self, name: impl Into<Arc<str>>) -> WorkflowBuilder {
        WorkflowBuilder::new(self.clone(), self.inner.harness.workflow(name))
    }

    /// The harness below: admission, ledger, clock.
    #[must_use]
    pub fn harness(&self) -> &Harness {
        &self.inner.harness
    }

    /// Sets or lifts a cap while running: of a user, of an API key (by its provider's name in the
    /// catalog), of a day in a zone, or of a workflow. Work under way isn't touched; whoever waits for
    /// money is decided anew. A scope counts from its first cap on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use nucleo_agents::prelude::*;
    /// use nucleo_core::spend::ScopeId;
    /// let runtime = Runtime::start(Catalog::loopback())?;
    /// let day = ScopeId::Day("Europe/Berlin".into());
    /// runtime.set_cap(day.clone(), Some("5 USD".parse()?))?;
    /// let workflow = runtime.workflow("greeting").user("ann").start();
    /// workflow.context().model(Grade::Small).user("Say hello.").output(64).text().await?;
    /// assert!(runtime.position(&day).unwrap().spent[0].pico() > 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`CapError`]: a zone that nobody knows, or a workflow that isn't open.
    pub fn set_cap(&self, scope: ScopeId, cap: Option<Money>) -> Result<(), CapError> {
        self.inner.days.set_cap(&self.inner.harness, &self.inner.stop, scope, cap)
    }

    /// Where a scope stands: cap, spent, committed. `None` when no cap was ever set for it.
    #[must_use]
    pub fn position(&self, scope: &ScopeId) -> Option<Position> {
        self.inner.harness.ledger().position(scope)
    }

    /// The catalog.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        self.inner.picker.catalog()
    }

    /// Whether some model can serve calls of this grade here and now.
    ///
    /// # Errors
    /// [`NothingCallable`], with the reason for each entry.
    pub fn serves(&self, grade: Grade) -> Result<(), NothingCallable> {
        let smallest = Request::new(grade, TextSize::of_message("")).output(1);
        self.inner.picker.pick(&smallest, &[]).map(drop)
    }

    /// The pool of connections, of which every call takes one.
    #[must_use]
    pub fn http(&self) -> AccountId {
        self.inner.http
    }

    /// The loopback servers that run inside this process.
    #[cfg(feature = "loopback")]
    #[must_use]
    pub fn loopback_servers(&self) -> &[Loopback] {
        &self.inner.servers
    }

    /// Ends everything: no new work, waiters refused, running jobs end within `limit`, then they are
    /// cancelled. Everything is settled when it returns.
    ///
    /// # Cancel safety
    /// Dropped, the shutdown stays begun; call it again to go on waiting.
    pub async fn shutdown(&self, limit: Span) {
        self.inner.harness.shutdown(limit).await;
    }

    /// The route of the next attempt, with the tokens that it reserves.
    pub(crate) fn route(
        &self,
        question: &Question,
        history: &History,
    ) -> Result<(Arc<Route>, Reserved), NothingCallable> {
        let (entry, tokens) = question.pick(&self.inner.picker, history)?;
        let route = self.inner.routes.get(&entry.id).expect("a callable entry has a route");
        Ok((Arc::clone(route), tokens))
    }
}

impl RuntimeBuilder {
    /// The keys, in place of those of the environment.
    pub fn credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// How many calls are under way at once; 256 unless told.
    pub const fn connections(mut self, connections: u64) -> Self {
        self.connections = connections;
        self
    }

    /// How requests travel, in place of real HTTP.
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }

    /// The clock, in place of tokio's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Who keeps the events.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Who is served when many share.
    pub fn share(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// How memory is watched; it is not unless told.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use nucleo_agents::prelude::*;
    /// use nucleo_harness::memory::MemoryWatch;
    /// let watch = MemoryWatch::of_this_process();
    /// let runtime = Runtime::builder(Catalog::loopback()).memory(watch).start()?;
    /// assert!(runtime.harness().admission().memory().is_some());
    /// # Ok(()) }
    /// ```
    pub fn memory(mut self, watch: MemoryWatch) -> Self {
        self.memory = Some(watch);
        self
    }

    /// A cap of a user, of an API key (by its provider's name), or of a day in a zone: as
    /// [`Runtime::set_cap`].
    pub fn cap(mut self, scope: ScopeId, cap: Money) -> Self {
        self.caps.push((scope, cap));
        self
    }

    /// How many retries all calls together may cause at one model, beside each call's own budget: a
    /// tenth of its successes, and ten a minute, unless told.
    pub const fn retry_share(mut self, share: RetryShare) -> Self {
        self.retry_share = share;
        self
    }

    /// The seed of pauses and ids; drawn unless told.
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// As [`Runtime::from_catalog`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(self) -> Result<Runtime, StartError> {
        let Self { catalog, connections, .. } = self;
        let credentials = self.credentials.unwrap_or_else(|| Credentials::of_process(&catalog));
        let mut monitor = Monitor::new();
        monitor.share(self.policy);
        let accounts = Accounts::open(&catalog, connections, &mut monitor)?;
        let mut setup = Setup::new(&catalog, &credentials, self.transport);
        let mut routes = BTreeMap::new();
        for entry in catalog.models() {
            if let Some(route) = setup.route(entry, &accounts)? {
                routes.insert(Arc::clone(&entry.id), Arc::new(route));
            }
        }
        #[cfg(feature = "loopback")]
        let servers = setup.servers;
        let picker = Picker::new(Arc::new(catalog), &credentials);
        let clock = self.clock.unwrap_or_else(|| Arc::new(TokioClock::start()));
        let admission = Admission::start(monitor, clock);
        if let Some(watch) = self.memory {
            admission.watch_memory(watch);
        }
        let stop = Stop::new();
        for (account, zone) in &accounts.daily {
            midnight::check(zone).map_err(|cause| StartError::Account {
                account: admission.name(*account),
                cause: Box::new(cause),
            })?;
            midnight::start(&admission, *account, Arc::clone(zone), &stop);
        }
        let mut harness = Harness::builder(admission).retry_share(self.retry_share);
        if let Some(journal) = self.journal {
            harness = harness.journal(journal);
        }
        if let Some(seed) = self.seed {
            harness = harness.seed(seed);
        }
        let runtime = Runtime {
            inner: Arc::new(Inner {
                harness: harness.start(),
                http: accounts.http,
                routes,
                #[cfg(feature = "loopback")]
                servers,
                picker,
                days: Days::new(tokio::runtime::Handle::current()),
                stop: stop.clone(),
                _stops: stop.drop_guard(),
            }),
        };
        for (scope, cap) in self.caps {
            runtime.set_cap(scope, Some(cap))?;
        }
        Ok(runtime)
    }
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("catalog", &self.catalog.name())
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}
