//! Did you mean: the allowed word nearest to one that is not.
//!
//! Invariants: near is at most a third of the word's letters away, and at least one edit; the first
//! of equals wins, so the answer does not depend on chance; a word longer than any name is near none,
//! so the work is bounded, whatever stands in a file.
//!
//! Not here: saying it (`error`).

/// The word among `allowed` that was probably meant by `word`.
pub(super) fn nearest<'a>(
    word: &str,
    allowed: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let most = (word.chars().count() / 3).max(1);
    let short = |word: &&str| word.len() <= LENGTH_MAX;
    let allowed = allowed.into_iter().filter(|other| short(&word) && short(other));
    let near = allowed.map(|other| (distance(word, other), other));
    near.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, other)| other)
}

/// In bytes: no name is longer.
const LENGTH_MAX: usize = 128;

/// Edits (insert, delete, replace, swap neighbours) that turn one word into the other.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.chars().collect();
    let to: Vec<char> = to.chars().collect();
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    rows[0] = (0..=to.len()).collect();
    for i in 1..=from.len() {
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_near() {
        let words = ["limits", "price", "provider", "max_output"];
        for (word, found) in [
            ("limit", Some("limits")),
            ("prise", Some("price")),
            ("porvider", Some("provider")),
            ("max_tokens", None),
            ("maxoutput", Some("max_output")),
            ("", None),
        ] {
            assert_eq!(nearest(word, words), found, "{word}");
        }
    }

    #[test]
    fn a_text_that_is_no_name_is_near_nothing() {
        // A table of its edits would take a terabyte.
        let (long, other) = ("a".repeat(400_000), "b".repeat(400_000));
        assert_eq!(nearest(&long, [&*other, "price"]), None);
        assert_eq!(nearest("prise", [&*other, "price"]), Some("price"));
    }
}
