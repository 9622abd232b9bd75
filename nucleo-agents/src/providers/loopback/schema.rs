//! A JSON value that satisfies a schema, deterministic.
//!
//! Known: `type` (one or several), `const`, `enum`, `anyOf`, `oneOf`, `allOf` (merged one level),
//! `$ref` inside the document, `properties`, `required`, `items`, `prefixItems`, `minItems`,
//! `maxItems`, `uniqueItems`, `minLength`, `maxLength`, the usual `format`s, `minimum`, `maximum`,
//! their exclusive forms and `multipleOf` of whole numbers. Not known: `pattern`, `not`,
//! conditionals, `patternProperties`; they are ignored, and the value may then not satisfy.
//!
//! Invariants: it ends, also for a schema that contains itself: below a depth only what is required
//! is generated, and alternatives without a reference are preferred.
//!
//! Not here: checking a value against a schema.

use serde_json::{Map, Number, Value};

use super::prose::Prose;

/// A value for `schema`, of `prose`'s words.
pub(super) fn satisfy(schema: &Value, prose: &mut Prose) -> Value {
    Generator { root: schema, prose }.value(schema, 0)
}

struct Generator<'a> {
    root: &'a Value,
    prose: &'a mut Prose,
}

/// From here on only what must be there is generated.
const SPARSE_DEPTH: u32 = 6;
/// No finite value is this deep unless the schema demands an infinite one.
const DEPTH_MAX: u32 = 48;

impl Generator<'_> {
    fn value(&mut self, schema: &Value, depth: u32) -> Value {
        let Value::Object(map) = schema else {
            return self.text(&Map::new());
        };
        if depth > DEPTH_MAX {
            return Value::Null;
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            let root = self.root;
            let found = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            return found.map_or(Value::Null, |found| self.value(found, depth + 1));
        }
        if let Some(value) = map.get("const") {
            return value.clone();
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array).filter(|v| !v.is_empty()) {
            return values[self.prose.rng().usize(0..values.len())].clone();
        }
        if let Some(parts) = map.get("allOf").and_then(Value::as_array) {
            return self.value(&self.merged(map, parts), depth + 1);
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(choices) = map.get(key).and_then(Value::as_array).filter(|c| !c.is_empty())
            {
                let chosen = self.choose(choices, depth);
                return self.value(&choices[chosen], depth + 1);
            }
        }
        match self.kind(map, depth) {
            "object" => self.object(map, depth),
            "array" => self.array(map, depth),
            "integer" => self.integer(map),
            "number" => self.number(map),
            "boolean" => Value::Bool(self.prose.rng().bool()),
            "null" => Value::Null,
            _ => self.text(map),
        }
    }

    /// Which alternative: any near the top, below it one that can't lead back up.
    fn choose(&mut self, choices: &[Value], depth: u32) -> usize {
        if depth >= SPARSE_DEPTH {
            let leads_nowhere = |choice: &Value| !choice.to_string().contains("\"$ref\"");
            return choices.iter().position(leads_nowhere).unwrap_or(0);
        }
        self.prose.rng().usize(0..choices.len())
    }

    fn kind<'s>(&self, map: &'s Map<String, Value>, depth: u32) -> &'s str {
        match map.get("type") {
            Some(Value::String(kind)) => kind,
            Some(Value::Array(kinds)) => {
                let mut kinds = kinds.iter().filter_map(Value::as_str);
                let null = depth >= SPARSE_DEPTH && kinds.clone().any(|kind| kind == "null");
                if null { "null" } else { kinds.find(|kind| *kind != "null").unwrap_or("null") }
            }
            _ if map.contains_key("properties") => "object",
            _ if map.contains_key("items") || map.contains_key("prefixItems") => "array",
            _ if map.contains_key("minimum") || map.contains_key("maximum") => "integer",
            _ => "string",
        }
    }

    fn object(&mut self, map: &Map<String, Value>, depth: u32) -> Value {
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .map_or_else(Vec::new, |names| names.iter().filter_map(Value::as_str).collect());
        let mut object = Map::new();
        for (name, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let must = required.contains(&name.as_str());
            if must || (depth < SPARSE_DEPTH && self.prose.rng().bool()) {
                object.insert(name.clone(), self.value(schema, depth + 1));
            }
        }
        for name in required {
            if !object.contains_key(name) {
                let schema = map.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
                object.insert(name.to_owned(), self.value(&schema, depth + 1));
            }
        }
        Value::Object(object)
    }

    fn array(&mut self, map: &Map<String, Value>, depth: u32) -> Value {
        let count = |key| map.get(key).and_then(Value::as_u64);
        let prefix = map.get("prefixItems").and_then(Value::as_array).map_or(&[][..], |p| p);
        let least = count("minItems").unwrap_or(0);
        let most = count("maxItems").unwrap_or(u64::MAX);
        let wished = if depth >= SPARSE_DEPTH { least } else { self.prose.rng().u64(1..=3) };
        let length = wished.max(least).max(prefix.len() as u64).min(most).min(ITEMS_MAX);
        let unique = map.get("uniqueItems") == Some(&Value::Bool(true));
        let any = Value::Bool(true);
        let mut items: Vec<Value> = Vec::new();
        // A set with fewer members than wished for must not be drawn from for ever.
        let mut draws = length.saturating_mul(16);
        while (items.len() as u64) < length && draws > 0 {
            draws -= 1;
            let schema = prefix.get(items.len()).or_else(|| map.get("items")).unwrap_or(&any);
            let item = self.value(schema, depth + 1);
            if !unique || !items.contains(&item) {
                items.push(item);
            }
        }
        Value::Array(items)
    }

    fn integer(&mut self, map: &Map<String, Value>) -> Value {
        let (low, high) = whole_bounds(map);
        let step = map.get("multipleOf").and_then(Value::as_u64).unwrap_or(1).max(1);
        let step = i128::from(step);
        let (low, high) = (div_ceil(low, step), high.div_euclid(step));
        let width = u64::try_from((high - low).max(0)).unwrap_or(u64::MAX);
        let drawn = (low + i128::from(self.prose.rng().u64(0..=width))) * step;
        match (i64::try_from(drawn), u64::try_from(drawn)) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            _ => 0.into(),
        }
    }

    fn number(&mut self, map: &Map<String, Value>) -> Value {
        let (low, high) = whole_bounds(map);
        if low <= high {
            return self.integer(map);
        }
        // No whole number lies between: the middle does.
        let bound = |keys: [&str; 2]| keys.iter().find_map(|key| map.get(*key)?.as_f64());
        let low = bound(["minimum", "exclusiveMinimum"]).unwrap_or(0.0);
        let high = bound(["maximum", "exclusiveMaximum"]).unwrap_or(low);
        Number::from_f64(low + (high - low) / 2.0).map_or(Value::Null, Value::Number)
    }

    fn text(&mut self, map: &Map<String, Value>) -> Value {
        if let Some(text) = map.get("format").and_then(Value::as_str).and_then(of_format) {
            return text.into();
        }
        let count = |key| map.get(key).and_then(Value::as_u64);
        let least = usize::try_from(count("minLength").unwrap_or(0).min(TEXT_MAX)).unwrap_or(0);
        let most = count("maxLength").and_then(|most| usize::try_from(most).ok());
        let mut text = self.prose.word().to_owned();
        for _ in 0..self.prose.rng().u8(0..3) {
            text.push(' ');
            text.push_str(self.prose.word());
        }
        while text.len() < least {
            text.push(' ');
            text.push_str(self.prose.word());
        }
        // Words are ASCII, so bytes are characters.
        text.truncate(most.unwrap_or(usize::MAX).max(least));
        text.into()
    }

    /// The schema with its `allOf` parts folded in, one level deep.
    fn merged(&self, map: &Map<String, Value>, parts: &[Value]) -> Value {
        let mut merged = map.clone();
        merged.remove("allOf");
        for part in parts {
            let target = part.get("$ref").and_then(Value::as_str);
            let part = target
                .and_then(|target| self.root.pointer(target.strip_prefix('#')?))
                .unwrap_or(part);
            for (key, value) in part.as_object().into_iter().flatten() {
                match (merged.get_mut(key), value) {
                    (Some(Value::Object(have)), Value::Object(more)) => {
                        have.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
                    }
                    (Some(Value::Array(have)), Value::Array(more)) if key == "required" => {
                        have.extend(more.iter().cloned());
                    }
                    _ => {
                        merged.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        Value::Object(merged)
    }
}

const ITEMS_MAX: u64 = 1_000;
const TEXT_MAX: u64 = 100_000;

/// The whole numbers that the bounds allow, a hundred of them where one side is open.
fn whole_bounds(map: &Map<String, Value>) -> (i128, i128) {
    let low = strictest(map, "minimum", "exclusiveMinimum", f64::ceil, 1).into_iter().max();
    let high = strictest(map, "maximum", "exclusiveMaximum", f64::floor, -1).into_iter().min();
    match (low, high) {
        (Some(low), Some(high)) => (low, high),
        (Some(low), None) => (low, low + 100),
        (None, Some(high)) if high >= 0 => ((high - 100).max(0), high),
        (None, Some(high)) => (high - 100, high),
        (None, None) => (0, 100),
    }
}

fn strictest(
    map: &Map<String, Value>,
    plain: &str,
    exclusive: &str,
    round: fn(f64) -> f64,
    inward: i128,
) -> Vec<i128> {
    let mut bounds = Vec::new();
    if let Some(bound) = map.get(plain) {
        bounds.extend(whole(bound, round).map(|(bound, _)| bound));
    }
    if let Some(bound) = map.get(exclusive) {
        let step = |(bound, exact): (i128, bool)| if exact { bound + inward } else { bound };
        bounds.extend(whole(bound, round).map(step));
    }
    bounds
}

/// A bound as a whole number, and whether it was one already.
fn whole(bound: &Value, round: fn(f64) -> f64) -> Option<(i128, bool)> {
    if let Some(exact) = bound.as_i64().map(i128::from).or_else(|| bound.as_u64().map(i128::from)) {
        return Some((exact, true));
    }
    let bound = bound.as_f64()?;
    #[expect(clippy::cast_possible_truncation, reason = "a bound past 1e18 may as well be 1e18")]
    let rounded = round(bound).clamp(-1e18, 1e18) as i128;
    Some((rounded, bound.fract() == 0.0))
}

fn div_ceil(number: i128, step: i128) -> i128 {
    -(-number).div_euclid(step)
}

fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2026-01-31",
        "time" => "12:30:00Z",
        "date-time" => "2026-01-31T12:30:00Z",
        "duration" => "PT1H",
        "email" => "someone@example.com",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" => "https://example.com/",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
