//! A tool that a model may call: an async fn with a name, a description and needs.
//!
//! Invariants: the input is judged before the tool is a job, so an input that does not fit takes
//! nothing; output that is text is handed on as it is, anything else as JSON.
//!
//! Not here: running it (`called`), several of them (`palette`).

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt as _;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::ToolContext;
use super::error::ToolError;
use super::needs::Needs;
use crate::answer::{AnswerSchema, Correction, input_schema_of};
use crate::wire::ToolSpec;

/// A tool that a model may call: any async fn `(ToolContext, In) -> Result<Out, ToolError>`. Cheap to
/// clone.
///
/// The model is shown the schema of `In` with its doc comments. An input that is no object stands
/// in a property `input`; `()` is no input at all.
///
/// ```
/// use nucleo_agents::prelude::*;
/// use nucleo_core::AccountId;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Address {
///     street: String,
/// }
/// #[derive(serde::Serialize)]
/// struct Place {
///     north: f64,
///     east: f64,
/// }
///
/// async fn geocode(_ctx: ToolContext, _address: Address) -> Result<Place, ToolError> {
///     Ok(Place { north: 52.5, east: 13.4 })
/// }
///
/// let geocoder = AccountId::from_index(3);
/// let tool = Tool::new("geocode", "Finds the place of an address", geocode)
///     .needs(Needs::http().account(geocoder));
/// assert_eq!(tool.spec().parameters["properties"]["street"]["type"], "string");
/// ```
#[derive(Clone)]
pub struct Tool {
    spec: ToolSpec,
    needs: Needs,
    callable: Arc<dyn Callable>,
}

/// A call whose input is sound.
pub(super) type Work =
    Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, Result<Arc<str>, ToolError>> + Send>;

/// A tool whose types are forgotten.
trait Callable: Send + Sync {
    fn prepare(&self, input: &Value) -> Result<Work, Correction>;
}

struct Typed<F, In> {
    tool: Arc<F>,
    schema: AnswerSchema,
    input: PhantomData<fn(In)>,
}

impl Tool {
    /// A tool of this name (letters, digits, `_` and `-`), with what it does and when to call it.
    pub fn new<F, In, Fut, Out>(
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        tool: F,
    ) -> Self
    where
        F: Fn(ToolContext, In) -> Fut + Send + Sync + 'static,
        In: DeserializeOwned + JsonSchema + Send + 'static,
        Fut: Future<Output = Result<Out, ToolError>> + Send + 'static,
        Out: Serialize + 'static,
    {
        let schema = input_schema_of::<In>();
        let spec = ToolSpec::new(name, description, Arc::clone(&schema.schema));
        let callable = Typed { tool: Arc::new(tool), schema, input: PhantomData };
        Self { spec, needs: Needs::nothing(), callable: Arc::new(callable) }
    }

    /// What it holds while it runs; nothing unless told.
    #[must_use]
    pub fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    /// What the model is shown.
    #[must_use]
    pub const fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    pub(super) const fn held(&self) -> &Needs {
        &self.needs
    }

    /// The call with this input, or what is wrong with the input.
    pub(super) fn prepare(&self, input: &Value) -> Result<Work, Correction> {
        self.callable.prepare(input)
    }
}

impl<F, In, Fut, Out> Callable for Typed<F, In>
where
    F: Fn(ToolContext, In) -> Fut + Send + Sync + 'static,
    In: DeserializeOwned + Send + 'static,
    Fut: Future<Output = Result<Out, ToolError>> + Send + 'static,
    Out: Serialize + 'static,
{
    fn prepare(&self, input: &Value) -> Result<Work, Correction> {
        let input = self.schema.read_value::<In>(input)?;
        let tool = Arc::clone(&self.tool);
        Ok(Box::new(move |context| {
            async move { tool(context, input).await.and_then(|output| written(&output)) }.boxed()
        }))
    }
}

/// The output as the model reads it.
fn written(output: &impl Serialize) -> Result<Arc<str>, ToolError> {
    match serde_json::to_value(output) {
        Ok(Value::String(text)) => Ok(text.into()),
        Ok(value) => Ok(value.to_string().into()),
        // The error may hold a part of the output.
        Err(_) => Err(ToolError::failed("the tool's output can't be written as JSON")),
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Tool");
        shown.field("spec", &self.spec).field("needs", &self.needs).finish_non_exhaustive()
    }
}
