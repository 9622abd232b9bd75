//! The parts of a message: text, images, tool calls, what tools answered, a model's reasoning.
//!
//! Invariants: cloning is cheap, whatever the size (everything large is shared); `Debug` shows sizes,
//! never contents; what a provider made for itself (reasoning) is kept as it came and handed back to
//! nobody else.
//!
//! Not here: their form in JSON (`message_json`), a provider's own form (`providers`).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

/// One part of a message.
///
/// ```
/// use nucleo_agents::wire::{Message, Part, Role};
/// let parts = [Part::text("What is on it?"), Part::image_url("https://example.org/map.png")];
/// assert_eq!(Message::of(Role::User, parts).text(), "What is on it?");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Plain text.
    Text(Arc<str>),
    /// An image.
    Image(Image),
    /// A model wants a tool called.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
    /// What a model thought, for its provider alone.
    Reasoning(Reasoning),
}

/// An image: where it is, or itself.
#[derive(Clone, PartialEq, Eq)]
pub enum Image {
    /// The provider fetches it from here.
    Url(Arc<str>),
    /// It is sent along.
    Bytes {
        /// As `image/png`.
        media_type: Arc<str>,
        /// The file's bytes.
        bytes: Bytes,
    },
}

/// A model's wish to have a tool called.
///
/// ```
/// use nucleo_agents::wire::ToolCall;
/// let call = ToolCall::new("call-1", "order_status", serde_json::json!({"order": 7}));
/// assert_eq!(format!("{call:?}"), "ToolCall(29 bytes)");
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// The provider's name for this call: its result must repeat it.
    pub id: Arc<str>,
    /// The tool, as the model names it.
    pub name: Arc<str>,
    /// The input, which need not fit the tool's schema.
    pub arguments: Arc<Value>,
}

/// What a tool answered to a call.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call's id.
    pub id: Arc<str>,
    /// What the model reads.
    pub content: Arc<str>,
    /// Whether it says why there is no result.
    pub is_error: bool,
}

/// What a model thought before it answered, in a form that only its provider reads. Some demand it
/// back with the results of the tools that were called.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reasoning {
    /// Who made it, in words by which that provider knows its own again. Others leave it out of what
    /// they send.
    pub by: Arc<str>,
    /// As it came.
    pub data: Arc<Value>,
}

impl Part {
    /// Plain text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// An image that the provider fetches.
    #[must_use]
    pub fn image_url(url: impl Into<Arc<str>>) -> Self {
        Self::Image(Image::Url(url.into()))
    }

    /// An image that is sent along; the media type as `image/png`.
    #[must_use]
    pub fn image(media_type: impl Into<Arc<str>>, bytes: impl Into<Bytes>) -> Self {
        Self::Image(Image::Bytes { media_type: media_type.into(), bytes: bytes.into() })
    }

    /// Bytes of its content.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image(image) => image.bytes(),
            Self::ToolCall(call) => call.bytes(),
            Self::ToolResult(result) => result.content.len(),
            Self::Reasoning(reasoning) => json_bytes(&reasoning.data),
        }
    }
}

impl Image {
    /// Bytes of the address or of the file.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Url(url) => url.len(),
            Self::Bytes { bytes, .. } => bytes.len(),
        }
    }
}

impl ToolCall {
    /// A call of `name` with this input.
    #[must_use]
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    /// Bytes of the id, the name and the input as JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.id.len() + self.name.len() + json_bytes(&self.arguments)
    }
}

impl ToolResult {
    /// What a tool found.
    #[must_use]
    pub fn found(id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), content: content.into(), is_error: false }
    }

    /// Why there is no result, for the model to read.
    #[must_use]
    pub fn error(id: impl Into<Arc<str>>, content: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), content: content.into(), is_error: true }
    }

    /// The content, with `Error: ` before it where it is one: for a wire that has no flag for it.
    #[must_use]
    pub fn as_text(&self) -> Cow<'_, str> {
        if self.is_error {
            format!("Error: {}", self.content).into()
        } else {
            Cow::from(&*self.content)
        }
    }
}

impl Reasoning {
    /// What a model thought, of the provider that calls itself so.
    #[must_use]
    pub fn new(by: impl Into<Arc<str>>, data: Value) -> Self {
        Self { by: by.into(), data: data.into() }
    }
}

impl From<ToolCall> for Part {
    fn from(call: ToolCall) -> Self {
        Self::ToolCall(call)
    }
}

impl From<ToolResult> for Part {
    fn from(result: ToolResult) -> Self {
        Self::ToolResult(result)
    }
}

impl From<Reasoning> for Part {
    fn from(reasoning: Reasoning) -> Self {
        Self::Reasoning(reasoning)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Image(image) => image.fmt(f),
            Self::ToolCall(call) => call.fmt(f),
            Self::ToolResult(result) => result.fmt(f),
            Self::Reasoning(reasoning) => reasoning.fmt(f),
        }
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Url(_) => "url of ",
            Self::Bytes { .. } => "",
        };
        write!(f, "Image({kind}{} bytes)", self.bytes())
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolCall({} bytes)", self.bytes())
    }
}

impl fmt::Debug for ToolResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_error { "error of " } else { "" };
        write!(f, "ToolResult({kind}{} bytes)", self.content.len())
    }
}

impl fmt::Debug for Reasoning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reasoning({} bytes)", json_bytes(&self.data))
    }
}

/// The bytes of a value as compact JSON.
pub(super) fn json_bytes(value: &Value) -> usize {
    struct Counted(usize);
    impl std::io::Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    serde_json::to_writer(&mut counted, value).expect("a JSON value serialises, and nothing fails");
    counted.0
}
