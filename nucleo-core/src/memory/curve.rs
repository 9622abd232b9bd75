//! How long to wait between two releases: a curve over the reading, times a penalty for growth.
//!
//! Invariants: at least 50 ms, at most an hour; the same reading reached fast waits longer than the
//! same reading reached slowly, because growth between releases doubles the penalty per percent.
//!
//! Not here: when a release may happen at all (`gate`).

use crate::time::Span;

/// Below this share of memory the delay is its minimum.
const CURVE_START: f64 = 0.80;
/// The share over which it rises to its maximum.
const CURVE_WIDTH: f64 = 0.15;
/// The shortest delay.
const DELAY_MIN_MS: f64 = 50.0;
/// The delay at the end of the curve, before the penalty.
const DELAY_SPAN_MS: f64 = 30_000.0;
/// The longest delay, whatever the penalty.
const DELAY_MAX_MS: f64 = 3_600_000.0;
/// The smallest penalty: none.
pub(crate) const PENALTY_MIN: f64 = 1.0;
/// The largest penalty: it turns the shortest delay into the longest one (50 ms x 72,000 = 1 h).
const PENALTY_MAX: f64 = 72_000.0;

/// The delay between two releases at a reading, under a penalty.
pub(crate) fn delay(reading: f64, penalty: f64) -> Span {
    let rise = ((reading - CURVE_START) / CURVE_WIDTH).clamp(0.0, 1.0);
    let curve_ms = (DELAY_SPAN_MS * rise.powi(3)).max(DELAY_MIN_MS);
    let ns = ((curve_ms * penalty).min(DELAY_MAX_MS) * 1e6).round();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within 50 ms ..= 1 h"
    )]
    Span::from_nanos(ns as u64)
}

/// The penalty after a release between whose floor and the last but one's lies this growth.
pub(crate) fn penalty(before: f64, growth: f64) -> f64 {
    (before * (100.0 * growth).exp2()).clamp(PENALTY_MIN, PENALTY_MAX)
}

/// The penalty after so many halvings.
pub(crate) fn eased(penalty: f64, halvings: u64) -> f64 {
    // Seventeen of them undo the largest penalty.
    let halvings = i32::try_from(halvings.min(17)).expect("17 fits");
    (penalty * 0.5_f64.powi(halvings)).max(PENALTY_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_at_its_marks() {
        let at = |reading| delay(reading, 1.0).as_millis();
        assert_eq!(
            [at(0.5), at(0.80), at(0.85), at(0.90), at(0.95), at(1.2)],
            [50, 50, 1_111, 8_888, 30_000, 30_000]
        );
        assert_eq!(delay(0.85, 72_000.0), Span::from_mins(60));
        assert_eq!(delay(0.5, 2.0), Span::from_millis(100));
    }

    #[test]
    fn a_percent_of_growth_doubles_and_a_fall_divides() {
        assert!((penalty(1.0, 0.02) - 4.0).abs() < 1e-9);
        assert!((penalty(4.0, -0.01) - 2.0).abs() < 1e-9);
        assert!((penalty(4.0, -1.0) - 1.0).abs() < 1e-9, "never below 1");
    }
}
