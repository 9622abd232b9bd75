//! A slab: values under small keys, found in one step.
//!
//! Invariants: a key names one value until that is removed; the same place then gets a new
//! generation, so an old key finds nothing (a place would have to be used 2^32 times to be
//! mistaken). Memory follows the largest number of values held at once.
//!
//! Not here: order. Nothing iterates over a slab.

/// Where a value is: its place, and how often that was used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    place: u32,
    generation: u32,
}

#[derive(Debug)]
pub(super) struct Slab<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl Key {
    pub(super) const fn to_bits(self) -> u64 {
        (self.place as u64) << 32 | self.generation as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves are taken apart")]
    pub(super) const fn from_bits(bits: u64) -> Self {
        Self { place: (bits >> 32) as u32, generation: bits as u32 }
    }
}

impl<T> Slab<T> {
    pub(super) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, value: T) -> Key {
        if let Some(place) = self.free.pop() {
            let at = &mut self.places[place as usize];
            at.value = Some(value);
            return Key { place, generation: at.generation };
        }
        let place = u32::try_from(self.places.len()).expect("fewer than 2^32 values at once");
        self.places.push(Place { generation: 0, value: Some(value) });
        Key { place, generation: 0 }
    }

    pub(super) fn get(&self, key: Key) -> Option<&T> {
        let at = self.places.get(key.place as usize)?;
        at.value.as_ref().filter(|_| at.generation == key.generation)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let at = self.places.get_mut(key.place as usize)?;
        at.value.as_mut().filter(|_| at.generation == key.generation)
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<T> {
        self.get(key)?;
        let at = &mut self.places[key.place as usize];
        at.generation = at.generation.wrapping_add(1);
        self.free.push(key.place);
        at.value.take()
    }

    /// How many values are held.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_key_finds_nothing() {
        let mut slab = Slab::new();
        let first = slab.insert('a');
        assert_eq!(slab.remove(first), Some('a'));
        let second = slab.insert('b');
        assert_eq!(slab.get(first), None);
        assert_eq!(slab.remove(first), None);
        assert_eq!(slab.get(Key::from_bits(second.to_bits())), Some(&'b'));
        assert_eq!(slab.len(), 1);
    }
}
