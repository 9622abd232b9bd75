//! Providers and routes, as a runtime sets them up.
//!
//! Invariants: a provider is set up once, whatever the number of its models; an entry that is not
//! callable here has no route.
//!
//! Not here: what callable means (`catalog::callable`).

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use super::accounts::Accounts;
use super::error::StartError;
use super::route::Route;
#[cfg(feature = "client")]
use crate::catalog::ProviderKind;
use crate::catalog::{Catalog, Credentials, ModelEntry, ProviderEntry};
use crate::providers::Provider;
#[cfg(feature = "loopback")]
use crate::providers::loopback::{Loopback, LoopbackError};
use crate::transport::Transport;

/// What a provider's setting up may fail with.
type Cause = Box<dyn Error + Send + Sync>;

/// Providers and routes as they are set up.
pub(super) struct Setup<'c> {
    catalog: &'c Catalog,
    credentials: &'c Credentials,
    #[cfg_attr(not(feature = "client"), expect(dead_code, reason = "no provider sends"))]
    transport: Option<Arc<dyn Transport>>,
    providers: BTreeMap<Arc<str>, Arc<dyn Provider>>,
    /// The loopback servers inside this process.
    #[cfg(feature = "loopback")]
    pub(super) servers: Vec<Loopback>,
}

impl<'c> Setup<'c> {
    pub(super) const fn new(
        catalog: &'c Catalog,
        credentials: &'c Credentials,
        transport: Option<Arc<dyn Transport>>,
    ) -> Self {
        Self {
            catalog,
            credentials,
            transport,
            providers: BTreeMap::new(),
            #[cfg(feature = "loopback")]
            servers: Vec::new(),
        }
    }

    /// The route of an entry; `None` for one that is not callable here.
    pub(super) fn route(
        &mut self,
        entry: &Arc<ModelEntry>,
        accounts: &Accounts,
    ) -> Result<Option<Route>, StartError> {
        if self.catalog.callable(&entry.id, self.credentials).is_err() {
            return Ok(None);
        }
        let provider = self.provider(&entry.provider)?;
        let counted = entry.accounts.iter().map(|name| accounts.named(name)).collect();
        let route = Route::new(Arc::clone(entry), provider, counted);
        route.map(Some).map_err(|cause| wrong(&entry.provider, cause.into()))
    }

    fn provider(&mut self, name: &Arc<str>) -> Result<Arc<dyn Provider>, StartError> {
        if let Some(provider) = self.providers.get(name) {
            return Ok(Arc::clone(provider));
        }
        let entry = self.catalog.provider(name).expect("a model's provider is in its catalog");
        let provider = self.set_up(entry).map_err(|cause| wrong(name, cause))?;
        self.providers.insert(Arc::clone(name), Arc::clone(&provider));
        Ok(provider)
    }

    fn set_up(&mut self, entry: &ProviderEntry) -> Result<Arc<dyn Provider>, Cause> {
        match entry.kind {
            #[cfg(feature = "anthropic")]
            ProviderKind::Anthropic => self.anthropic(entry),
            #[cfg(feature = "openai")]
            ProviderKind::OpenaiCompatible => {
                let url = entry.base_url.as_deref().unwrap_or(OPENAI_BASE_URL);
                self.openai(url, entry)
            }
            #[cfg(feature = "loopback")]
            ProviderKind::Loopback => {
                let url = match &entry.base_url {
                    Some(url) => url.to_string(),
                    None => self.serve(entry)?,
                };
                self.openai(&url, entry)
            }
            kind => Err(format!("this build can't speak to {kind}").into()),
        }
    }

    /// Starts a loopback server inside this process, and tells its address.
    #[cfg(feature = "loopback")]
    fn serve(&mut self, entry: &ProviderEntry) -> Result<String, LoopbackError> {
        let models = self.catalog.models().filter(|model| model.provider == entry.name);
        let config = super::loopback::config(self.catalog, &models.collect::<Vec<_>>());
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let server = Loopback::start(config, address)?;
        let url = server.base_url();
        self.servers.push(server);
        Ok(url)
    }

    #[cfg(feature = "anthropic")]
    fn anthropic(&mut self, entry: &ProviderEntry) -> Result<Arc<dyn Provider>, Cause> {
        use crate::providers::anthropic::{Anthropic, AnthropicConfig};
        let url = entry.base_url.as_deref().unwrap_or(AnthropicConfig::BASE_URL);
        let mut config = AnthropicConfig::new(url)?;
        if let Ok(Some(key)) = self.credentials.key(&entry.name) {
            config = config.api_key(key.clone())?;
        }
        Ok(Arc::new(Anthropic::new(config, self.transport()?)))
    }

    #[cfg(feature = "openai")]
    fn openai(&mut self, url: &str, entry: &ProviderEntry) -> Result<Arc<dyn Provider>, Cause> {
        use crate::providers::openai::{OpenAi, OpenAiConfig};
        let mut config = OpenAiConfig::new(url)?;
        if let Ok(Some(key)) = self.credentials.key(&entry.name) {
            config = config.api_key(key.clone())?;
        }
        Ok(Arc::new(OpenAi::new(config, self.transport()?)))
    }

    /// The one that was given, or the pool that all providers share.
    #[cfg(feature = "client")]
    fn transport(&mut self) -> Result<Arc<dyn Transport>, Cause> {
        use crate::transport::{Pooled, PooledConfig};
        if let Some(transport) = &self.transport {
            return Ok(Arc::clone(transport));
        }
        let pooled: Arc<dyn Transport> = Arc::new(Pooled::new(PooledConfig::default())?);
        self.transport = Some(Arc::clone(&pooled));
        Ok(pooled)
    }
}

/// Where OpenAI itself is.
#[cfg(feature = "openai")]
const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

fn wrong(provider: &Arc<str>, cause: Cause) -> StartError {
    StartError::Provider { provider: Arc::clone(provider), cause }
}
