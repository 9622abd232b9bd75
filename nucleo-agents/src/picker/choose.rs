//! Choosing an entry.
//!
//! Invariants: what is callable was decided when the picker was made (keys are read once) and
//! changes only through [`Picker::turn_off`] and [`Picker::turn_on`]; an entry is tried once per
//! place in the order, however many pins name it.
//!
//! Not here: what a request is (`request`), the catalog's own rules (`catalog`).

use std::collections::BTreeMap;
use std::sync::Arc;

use nucleo_core::{Currency, Reserved};

use super::{NothingCallable, Passed, PastFailure, Request, Target, WhyPassed};
use crate::catalog::{Catalog, Credentials, Grade, ModelEntry, NotCallable};

/// Chooses among the entries of a catalog.
///
/// ```
/// use nucleo_agents::catalog::{Catalog, Credentials, Grade};
/// use nucleo_agents::counting::TextSize;
/// use nucleo_agents::picker::{Picker, Request};
/// let picker = Picker::new(Catalog::loopback().into(), &Credentials::default());
/// let request = Request::new(Grade::Small, TextSize::of_message("Name a colour."));
/// assert_eq!(&*picker.pick(&request, &[])?.id, "pebble");
/// # Ok::<(), nucleo_agents::picker::NothingCallable>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picker {
    catalog: Arc<Catalog>,
    /// Entries that can't be called, by id.
    barred: BTreeMap<Arc<str>, NotCallable>,
    /// Entries that were turned off while running, by id.
    turned_off: BTreeMap<Arc<str>, Arc<str>>,
    /// Currencies in the order in which they first stand in the file.
    currencies: Vec<Currency>,
}

impl Picker {
    /// A picker over `catalog`; what is callable with `credentials` is decided here, once.
    #[must_use]
    pub fn new(catalog: Arc<Catalog>, credentials: &Credentials) -> Self {
        let mut barred = BTreeMap::new();
        let mut currencies = Vec::new();
        for model in catalog.models() {
            if let Err(why) = catalog.entry_callable(model, credentials) {
                barred.insert(Arc::clone(&model.id), why);
            }
            currencies.extend(model.price.as_ref().map(|price| price.currency));
        }
        let mut seen: Vec<Currency> = Vec::new();
        currencies.retain(|currency| {
            let first = !seen.contains(currency);
            seen.push(*currency);
            first
        });
        Self { catalog, barred, turned_off: BTreeMap::new(), currencies }
    }

    /// Takes an entry out until it is turned on again, as after a failed probe.
    pub fn turn_off(&mut self, entry: &str, reason: impl Into<Arc<str>>) {
        self.turned_off.insert(entry.into(), reason.into());
    }

    /// Brings an entry back.
    pub fn turn_on(&mut self, entry: &str) {
        self.turned_off.remove(entry);
    }

    /// The catalog.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The entry for the next attempt of a job, in view of its failed ones (oldest first).
    ///
    /// # Errors
    /// [`NothingCallable`]: no entry serves the request, and why not, one by one.
    pub fn pick(
        &self,
        request: &Request,
        history: &[PastFailure],
    ) -> Result<Arc<ModelEntry>, NothingCallable> {
        let candidates = match &request.target {
            Target::Grade(grade) => self.by_grade(*grade, request)?,
            Target::Model(id) => self.by_model(id, request)?,
        };
        let chosen = in_view_of(&candidates, history);
        Ok(Arc::clone(chosen.expect("there is a candidate, or an error was returned")))
    }

    /// The entries of the lowest grade, from `floor` up, that has one which serves.
    fn by_grade(
        &self,
        floor: Grade,
        request: &Request,
    ) -> Result<Vec<&Arc<ModelEntry>>, NothingCallable> {
        let mut passed: Vec<Passed> = Vec::new();
        for grade in Grade::ALL.into_iter().filter(|grade| *grade >= floor) {
            let mut candidates = Vec::new();
            for entry in self.order(grade, request) {
                match self.serves(entry, request) {
                    Ok(()) => candidates.push(entry),
                    // A pin of a lower grade may have named it already.
                    Err(_) if passed.iter().any(|other| other.entry == entry.id) => {}
                    Err(why) => passed.push(Passed { entry: Arc::clone(&entry.id), why }),
                }
            }
            if !candidates.is_empty() {
                return Ok(candidates);
            }
        }
        Err(NothingCallable { target: request.target.clone(), passed })
    }

    /// All entries that a grade offers, in order: its pins, then its others, cheapest first.
    fn order(&self, grade: Grade, request: &Request) -> Vec<&Arc<ModelEntry>> {
        let pins = self.catalog.pins(grade);
        let pinned = pins.iter().filter_map(|id| self.catalog.model(id));
        let mut order: Vec<_> = pinned.collect();
        let others = |entry: &&Arc<ModelEntry>| entry.grade == grade && !pins.contains(&entry.id);
        let mut others: Vec<_> = self.catalog.models().filter(others).collect();
        // The sort is stable: equals keep the order of the file.
        others.sort_by_cached_key(|entry| self.dearness(entry, request));
        order.append(&mut others);
        order
    }

    /// Sorts before what is dearer; without a price last.
    fn dearness(&self, entry: &ModelEntry, request: &Request) -> (usize, i128) {
        let Some(price) = &entry.price else {
            return (usize::MAX, 0);
        };
        let place = self.currencies.iter().position(|currency| *currency == price.currency);
        let place = place.expect("every price's currency was noted at the start");
        let input = entry.counter.tokens(&request.input);
        let tokens = Reserved { input, output: request.output_of(entry) };
        (place, price.weight(&tokens))
    }

    /// The entry `id`, then the other routes to the same weights, in the order of the file.
    fn by_model(
        &self,
        id: &str,
        request: &Request,
    ) -> Result<Vec<&Arc<ModelEntry>>, NothingCallable> {
        let nothing = |passed| NothingCallable { target: request.target.clone(), passed };
        let Some(entry) = self.catalog.model(id) else {
            return Err(nothing(Vec::new()));
        };
        // Who names an entry gets that one or an error; the siblings are there for its failures.
        if let Err(why) = self.serves(entry, request) {
            return Err(nothing(vec![Passed { entry: Arc::clone(&entry.id), why }]));
        }
        let sibling = |other: &&Arc<ModelEntry>| {
            let route = other.identity == entry.identity && other.id != entry.id;
            route && self.serves(other, request).is_ok()
        };
        let siblings = self.catalog.models().filter(sibling);
        Ok(std::iter::once(entry).chain(siblings).collect())
    }

    fn serves(&self, entry: &ModelEntry, request: &Request) -> Result<(), WhyPassed> {
        if let Some(why) = self.barred.get(&entry.id) {
            return Err(WhyPassed::NotCallable(why.clone()));
        }
        if let Some(reason) = self.turned_off.get(&entry.id) {
            return Err(WhyPassed::NotCallable(NotCallable::TurnedOff(Arc::clone(reason))));
        }
        request.fits(entry)
    }
}

/// The candidate for the next attempt: the last entry again, or the least blamed one, where a
/// sibling of the last goes before the rest and the rest keep their order.
fn in_view_of<'a>(
    candidates: &[&'a Arc<ModelEntry>],
    history: &[PastFailure],
) -> Option<&'a Arc<ModelEntry>> {
    let Some(last) = history.last() else {
        return candidates.first().copied();
    };
    let failed = candidates.iter().find(|entry| entry.id == last.entry).copied();
    if !last.signal.leaves_route() && failed.is_some() {
        return failed;
    }
    let blame = |entry: &ModelEntry| {
        let route = |past: &&PastFailure| past.signal.leaves_route() && past.entry == entry.id;
        history.iter().filter(route).count()
    };
    let rank = |entry: &&'a Arc<ModelEntry>| {
        let sibling = failed.is_some_and(|failed| failed.identity == entry.identity);
        (blame(entry), entry.id == last.entry, !sibling)
    };
    // Of equals the first wins, so the order holds.
    candidates.iter().copied().min_by_key(rank)
}
