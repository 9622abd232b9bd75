//! What must hold of any trace, whatever its bytes: the fuzz target's check too.

use super::super::trace::read_from;

/// A trace's bytes: rows, each with an instant within a year, or an error that names the row.
pub(crate) fn trace(bytes: &[u8]) {
    match read_from(bytes, "trace.csv", None) {
        Ok(rows) => {
            assert!(!rows.is_empty());
            let lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).count();
            assert!(rows.len() < lines, "{} rows of {lines} lines", rows.len());
            for (index, row) in rows.iter().enumerate() {
                assert_eq!(row.number, index + 1);
                assert!(row.t_ns <= 32_000_000_000_000_000, "{row:?}");
                assert!(row.model.as_deref() != Some(""), "{row:?}");
            }
            let first = read_from(bytes, "trace.csv", Some(1)).expect("the first row reads");
            assert_eq!(first, rows[..1]);
        }
        Err(error) => {
            let said = format!("{error:#}");
            assert!(
                said.contains("trace.csv: row ") || said.contains("trace.csv has no rows"),
                "{said}"
            );
        }
    }
}
