//! The texts of a value: as it came, and canonical (RFC 8785).

use counterfoil_json::{canonical_number, utf16_order, write_string, Fault};

use super::Json;
use crate::error::Error;
use crate::sorting::sort_by;

/// How a number is written.
type WriteNumber = fn(&str, &mut Vec<u8>) -> Result<(), Fault>;

impl Json {
    /// Compact JSON text; member order and number literals as they are.
    pub fn to_text(&self) -> String {
        let as_it_is: WriteNumber = |literal, out| {
            out.extend_from_slice(literal.as_bytes());
            Ok(())
        };
        self.written(as_it_is, false).unwrap_or_default()
    }

    /// RFC 8785 text. Error: `number_out_of_range` (overflow, or a whole number whose digits its double changes).
    pub fn to_canonical(&self) -> Result<String, Error> {
        Ok(self.written(|literal, out| canonical_number(literal, true, out), true)?)
    }

    /// RFC 8785 text exactly as the RFC has it, integers beyond 2^53 rounded. Error: `number_out_of_range` on overflow.
    pub fn to_plain_canonical(&self) -> Result<String, Error> {
        Ok(self.written(|literal, out| canonical_number(literal, false, out), true)?)
    }

    fn written(&self, number: WriteNumber, sorted: bool) -> Result<String, Fault> {
        let mut out = Vec::new();
        self.write(&mut out, number, sorted)?;
        String::from_utf8(out).map_err(|_| Fault::Invalid)
    }

    fn write(&self, out: &mut Vec<u8>, number: WriteNumber, sorted: bool) -> Result<(), Fault> {
        match self {
            Json::Null => out.extend_from_slice(b"null"),
            Json::Bool(true) => out.extend_from_slice(b"true"),
            Json::Bool(false) => out.extend_from_slice(b"false"),
            Json::Number(literal) => number(literal, out)?,
            Json::String(text) => write_string(text, out),
            Json::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out, number, sorted)?;
                }
                out.push(b']');
            }
            Json::Object(members) => {
                let mut order: Vec<&(String, Json)> = members.iter().collect();
                if sorted {
                    sort_by(&mut order, |(left, _), (right, _)| {
                        utf16_order(left.as_bytes(), right.as_bytes())
                    });
                }
                out.push(b'{');
                for (index, (name, value)) in order.into_iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_string(name, out);
                    out.push(b':');
                    value.write(out, number, sorted)?;
                }
                out.push(b'}');
            }
        }
        Ok(())
    }
}
