//! The results file: one JSON line an item, in order of completion.
//!
//! Each line is handed to the system whole as its item ends, so that after a kill at most what was in
//! flight is missing. A line that could not be written whole is cut off again.
//!
//! Invariants: a line that is there is whole; what an earlier run answered is not asked again, and
//! what it paid counts.
//!
//! Not here: reading what is there (`earlier`), what became of an item (`nucleo_agents::fan_out`).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use nucleo_agents::fan_out::{Item, ItemStatus};

use super::ask::Answer;
use super::earlier::{Earlier, ErrorLine, ResultLine};
use super::input::{BadInput, Line};
use crate::args;
use crate::exit::OutputLost;

impl ResultLine {
    pub(crate) fn of(item: &Item<Line, Answer>) -> Self {
        let record = &item.record;
        let status = match item.status {
            ItemStatus::Answered => "answered",
            ItemStatus::Failed => "failed",
            ItemStatus::Refused => "refused",
        };
        let error = item.result.as_ref().err().map(|error| {
            let kind = match error.agent_error::<BadInput>() {
                Some(_) => "bad_input",
                None => error.name(),
            };
            ErrorLine { kind: kind.to_owned(), message: error.chain() }
        });
        Self {
            index: item.input.index,
            status: status.to_owned(),
            answer: item.result.as_ref().ok().map(|answer| answer.text.clone()),
            error,
            usage: record.usage,
            cost: record.cost.first().copied(),
            estimated: record.estimated,
            model: record.model.clone(),
            attempts: record.attempts,
            wait_ms: record.waited.as_millis(),
            waited_on: record
                .waited_on
                .iter()
                .map(|(account, span)| (Arc::clone(account), span.as_millis()))
                .collect(),
        }
    }
}

/// Where results go.
pub(crate) enum Results {
    File { file: File, path: PathBuf, length: u64 },
    Stdout,
    Nowhere,
}

impl Results {
    /// Opens a new results file.
    pub(crate) fn create(path: &Path, overwrite: bool) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true);
        // Emptied once it is locked: another run may be writing it.
        let options =
            if overwrite { options.create(true).truncate(false) } else { options.create_new(true) };
        let file = options.open(path).map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                let name = path.display();
                return anyhow::anyhow!(
                    "{name} exists: --resume goes on with it, --overwrite replaces it"
                );
            }
            anyhow::Error::new(error).context(format!("can't create {}", path.display()))
        })?;
        lock(&file, path)?;
        // A device has no length.
        if overwrite && file.metadata().is_ok_and(|about| about.is_file()) {
            file.set_len(0).with_context(|| format!("can't empty {}", path.display()))?;
        }
        Ok(Self::File { file, path: path.to_owned(), length: 0 })
    }

    /// Opens an earlier run's file to go on with; a last line that was cut off is taken away.
    pub(crate) fn resume(path: &Path) -> anyhow::Result<(Self, Earlier)> {
        let name = path.display();
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = open.with_context(|| format!("can't open {name}"))?;
        lock(&file, path)?;
        let earlier = Earlier::read(&file, &name.to_string())?;
        let mut length = earlier.whole_bytes;
        file.set_len(length).with_context(|| format!("can't mend {name}"))?;
        file.seek(SeekFrom::End(0)).with_context(|| format!("can't go on in {name}"))?;
        if earlier.lacks_line_end {
            file.write_all(b"\n").with_context(|| format!("can't mend {name}"))?;
            length += 1;
        }
        Ok((Self::File { file, path: path.to_owned(), length }, earlier))
    }

    pub(crate) fn write(&mut self, line: &ResultLine) -> anyhow::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        match self {
            Self::Nowhere => Ok(()),
            Self::Stdout => {
                let mut out = std::io::stdout().lock();
                let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                written.map_err(|cause| {
                    OutputLost { place: "standard output".to_owned(), cause }.into()
                })
            }
            Self::File { file, path, length } => {
                if let Err(cause) = file.write_all(text.as_bytes()) {
                    cut_off(file, *length, path);
                    return Err(OutputLost { place: path.display().to_string(), cause }.into());
                }
                *length += text.len() as u64;
                Ok(())
            }
        }
    }
}

/// Takes away what came of a line that could not be written: it would be read as a broken one.
fn cut_off(file: &mut File, length: u64, path: &Path) {
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        // A device or a pipe keeps nothing to take away.
        return;
    }
    let mended = file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0)));
    if let Err(error) = mended {
        eprintln!("nucleo: the last line of {} is cut: {error}", path.display());
    }
}

/// Keeps a second run out, until the file is closed or the process gone. Where a file system knows no
/// locks, nobody is kept out.
fn lock(file: &File, path: &Path) -> anyhow::Result<()> {
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        bail!("{} is being written by another run: wait for its end", path.display());
    }
    Ok(())
}

/// Opens where the arguments say that results go.
pub(crate) fn open(args: &args::Run) -> anyhow::Result<(Results, Earlier)> {
    let Some(path) = args.out.as_deref() else {
        let results = if args.json { Results::Nowhere } else { Results::Stdout };
        return Ok((results, Earlier::default()));
    };
    if path.is_dir() {
        bail!("{} is a folder: name a file for the results", path.display());
    }
    if same_file(path, &args.input) {
        bail!("{} is the input itself: name another file for the results", path.display());
    }
    if args.resume {
        return Results::resume(path);
    }
    Ok((Results::create(path, args.overwrite)?, Earlier::default()))
}

fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok().filter(|path| path.is_file());
    real(one).is_some_and(|one| Some(one) == real(other))
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
