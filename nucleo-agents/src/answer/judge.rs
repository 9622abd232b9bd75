//! Judges a JSON value by a type: serde over the value, with errors of our own.
//!
//! serde_json's errors print the value that did not fit; those of `misfit` hold path and rule only.
//!
//! Invariants: the path costs nothing while all is well, it is put together on the way out of an
//! error; a struct is an object, never a list of its fields.
//!
//! Not here: the words of an error (`misfit`), ranges and lengths that only the schema knows
//! (`bounds`).

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use super::Correction;
use super::correction::key_path;
use super::misfit::{Misfit, list};

/// Reads a `T` from `value`.
pub(super) fn judge<T: DeserializeOwned>(value: &Value) -> Result<T, Correction> {
    T::deserialize(Judge(value)).map_err(|misfit| misfit.correction(value))
}

/// A value as a deserializer.
#[derive(Clone, Copy)]
struct Judge<'de>(&'de Value);

impl<'de> Deserializer<'de> for Judge<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => {
                    visitor.visit_f64(number.as_f64().expect("a JSON number is one of the three"))
                }
            },
            Value::Array(values) => visit_list(values, visitor),
            Value::Object(map) => visit_object(map, visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    /// A struct is an object: serde would also take a list of its fields in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Array(_) => Err(de::Error::invalid_type(Unexpected::Seq, &"an object")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let wrong = || Misfit::ours(format!("must be one of {}", list(variants)));
        match self.0 {
            Value::String(name) => visitor.visit_enum(Variant { name, content: None }),
            Value::Object(map) => {
                let mut entries = map.iter();
                let (Some((name, content)), None) = (entries.next(), entries.next()) else {
                    return Err(wrong());
                };
                visitor.visit_enum(Variant { name, content: Some(content) })
            }
            _ => Err(wrong()),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

fn visit_list<'de, V: Visitor<'de>>(values: &'de [Value], visitor: V) -> Result<V::Value, Misfit> {
    let mut list = List { values, next: 0 };
    let read = visitor.visit_seq(&mut list)?;
    if list.next < values.len() {
        return Err(Misfit::ours(format!("must have {} elements at most", list.next)));
    }
    Ok(read)
}

fn visit_object<'de, V: Visitor<'de>>(
    map: &'de Map<String, Value>,
    visitor: V,
) -> Result<V::Value, Misfit> {
    visitor.visit_map(Object { entries: map.iter(), current: None })
}

struct List<'de> {
    values: &'de [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut List<'de> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Misfit> {
        let Some(value) = self.values.get(self.next) else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        let read = seed.deserialize(Judge(value));
        read.map(Some).map_err(|misfit| misfit.under(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len() - self.next)
    }
}

struct Object<'de> {
    entries: serde_json::map::Iter<'de>,
    current: Option<(&'de str, &'de Value)>,
}

impl<'de> MapAccess<'de> for Object<'de> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Misfit> {
        let Some((key, value)) = self.entries.next() else {
            return Ok(None);
        };
        self.current = Some((key, value));
        seed.deserialize(Key(key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Misfit> {
        let (key, value) = self.current.take().expect("serde asks for a value after its key");
        seed.deserialize(Judge(value)).map_err(|misfit| misfit.under(&key_path("", key)))
    }
}

/// A key of an object: text, or a number written as text.
struct Key<'de>(&'de str);

macro_rules! number_key {
    ($($method:ident $visit:ident $number:ty),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
            match self.0.parse::<$number>() {
                Ok(number) => visitor.$visit(number),
                Err(_) => visitor.visit_borrowed_str(self.0),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        self.0.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    number_key! {
        deserialize_u8 visit_u8 u8, deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32, deserialize_u64 visit_u64 u64,
        deserialize_i8 visit_i8 i8, deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32, deserialize_i64 visit_i64 i64,
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Variant<'de> {
    name: &'de str,
    content: Option<&'de Value>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Misfit;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Misfit> {
        let name: BorrowedStrDeserializer<'de, Misfit> = BorrowedStrDeserializer::new(self.name);
        seed.deserialize(name).map(|variant| (variant, self))
    }
}

impl<'de> Variant<'de> {
    fn content(&self, what: &'static str) -> Result<Judge<'de>, Misfit> {
        let missing = || Misfit::ours(format!("must have {what} in it")).under(self.name);
        self.content.map(Judge).ok_or_else(missing)
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Misfit;

    fn unit_variant(self) -> Result<(), Misfit> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(Misfit::ours("must be the variant's name as text".to_owned())),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Misfit> {
        let content = self.content("a value")?;
        seed.deserialize(content).map_err(|misfit| misfit.under(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Misfit> {
        let content = self.content("a list")?;
        content.deserialize_any(visitor).map_err(|misfit| misfit.under(self.name))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let content = self.content("an object")?;
        content.deserialize_any(visitor).map_err(|misfit| misfit.under(self.name))
    }
}
