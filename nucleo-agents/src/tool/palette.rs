//! The tools that a model may choose from.
//!
//! Invariants: names are unique, and such that every wire takes them.
//!
//! Not here: calling them (`called`).

use std::sync::Arc;

use super::offered::Tool;
use crate::wire::ToolSpec;

/// Tools for a model to choose from. Cheap to clone; made once, used by every agent of a fan-out.
///
/// ```
/// use nucleo_agents::prelude::*;
/// async fn today(_ctx: ToolContext, (): ()) -> Result<String, ToolError> {
///     Ok("Tuesday".to_owned())
/// }
/// let tool = || Tool::new("today", "Tells the day", today);
/// let palette = Palette::new([tool()])?;
/// assert_eq!(palette.tools().len(), 1);
/// let twice = Palette::new([tool(), tool()]).unwrap_err();
/// assert_eq!(twice.to_string(), "two tools are called `today`: give one of them another name");
/// # Ok::<(), nucleo_agents::tool::PaletteError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Palette {
    tools: Arc<[Tool]>,
    specs: Arc<[ToolSpec]>,
}

/// Why tools make no palette.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PaletteError {
    /// A name occurs twice.
    #[error("two tools are called `{0}`: give one of them another name")]
    Twice(Arc<str>),
    /// A name that wires refuse.
    #[error(
        "a tool can't be called `{0}`: its name has 1 to 64 letters of a to z, digits, `_` and `-`"
    )]
    Name(Arc<str>),
}

impl Palette {
    /// A palette of these tools.
    ///
    /// # Errors
    /// [`PaletteError`] when a name occurs twice, or wires would refuse it.
    pub fn new(tools: impl IntoIterator<Item = Tool>) -> Result<Self, PaletteError> {
        let tools: Arc<[Tool]> = tools.into_iter().collect();
        let specs: Arc<[ToolSpec]> = tools.iter().map(|tool| tool.spec().clone()).collect();
        for (place, ToolSpec { name, .. }) in specs.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if !(1..=64).contains(&name.len()) || !name.chars().all(plain) {
                return Err(PaletteError::Name(Arc::clone(name)));
            }
            if specs[..place].iter().any(|earlier| earlier.name == *name) {
                return Err(PaletteError::Twice(Arc::clone(name)));
            }
        }
        Ok(Self { tools, specs })
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    pub(crate) const fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    /// The tool of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| *tool.spec().name == *name)
    }
}
