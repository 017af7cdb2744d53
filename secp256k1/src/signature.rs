//! ECDSA over digests: which key made a signature, and whether one did (SEC 1, 4.1.4 and 4.1.6).

use crate::field::Element;
use crate::point::{Affine, Jacobian};
use crate::product::sum_of_products;
use crate::scalar::Scalar;

/// The field's prime less the group order: an x below it has a second candidate, itself plus the order.
const PRIME_LESS_ORDER: [u8; 32] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x45, 0x51, 0x23, 0x19, 0x50, 0xb7, 0x5f, 0xc4, 0x40,
    0x2d, 0xa1, 0x72, 0x2f, 0xc9, 0xba, 0xee,
];
const MINUS_ORDER: Element = Element::constant(&PRIME_LESS_ORDER);

/// Two scalars from 1 to below the group order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    r: Scalar,
    s: Scalar,
}

impl Signature {
    /// The signature `r | s`, when both are in range.
    pub fn from_be_bytes(bytes: &[u8; 64]) -> Option<Signature> {
        let (r, s) = bytes.split_first_chunk::<32>()?;
        let signature = Signature {
            r: Scalar::from_be_bytes(r)?,
            s: Scalar::from_be_bytes(s.first_chunk::<32>()?)?,
        };
        (!signature.r.is_zero() && !signature.s.is_zero()).then_some(signature)
    }

    /// The signature in DER: one sequence of two integers, each in its shortest form, and nothing else; when both are in range.
    pub fn from_der(bytes: &[u8]) -> Option<Signature> {
        let (content, rest) = value(bytes, 0x30)?;
        let (r, content) = value(content, 0x02)?;
        let (s, content) = value(content, 0x02)?;
        if !rest.is_empty() || !content.is_empty() {
            return None;
        }
        let mut both = [0; 64];
        let (left, right) = both.split_at_mut(32);
        place(unsigned(r)?, left)?;
        place(unsigned(s)?, right)?;
        Signature::from_be_bytes(&both)
    }

    /// Whether s is above half the group order; the other one of ±s then makes a signature too, and Ethereum wants that (EIP-2).
    pub fn is_high(&self) -> bool {
        self.s.is_high()
    }

    /// The second scalar.
    pub fn s(&self) -> &Scalar {
        &self.s
    }

    /// The factors of the generator and of the key whose sum is the signer's point, given the inverse of s.
    pub fn factors(&self, digest: &[u8; 32], inverse: &Scalar) -> (Scalar, Scalar) {
        (Scalar::reduced(digest).times(inverse), self.r.times(inverse))
    }

    /// The key that made this signature, when its point has r itself, not r plus the group order, as x, and a y that is odd or even. There
    /// is none when no point has that x, or when the key would be infinity. What is found verifies: no second look is needed.
    pub fn recover(&self, digest: &[u8; 32], odd: bool) -> Option<Affine> {
        let point = Affine::from_x(self.x(), odd)?;
        let inverse = self.r.inverse()?;
        let generator = Scalar::reduced(digest).times(&inverse).negated();
        sum_of_products(&generator, &point, &self.s.times(&inverse)).to_affine()
    }

    /// Whether the key made this signature.
    pub fn verifies(&self, digest: &[u8; 32], key: &Affine) -> bool {
        let Some(inverse) = self.s.inverse() else {
            return false;
        };
        let (a, b) = self.factors(digest, &inverse);
        self.is_of(&sum_of_products(&a, key, &b))
    }

    /// Whether the x of a point is r modulo the group order. Infinity has none.
    pub fn is_of(&self, point: &Jacobian) -> bool {
        let x = self.x();
        point.has_x(&x)
            || (self.r.to_be_bytes() < PRIME_LESS_ORDER && point.has_x(&x.minus(&MINUS_ORDER).tight()))
    }

    /// Whether a point is the one that [`Signature::recover`] begins with.
    pub fn is_of_recovered(&self, point: &Affine, odd: bool) -> bool {
        point.x == self.x() && point.y.is_odd() == odd
    }

    /// r as a coordinate: the group order is below the field's prime.
    fn x(&self) -> Element {
        self.r.to_element()
    }
}

/// The content of the DER value with this tag at the beginning, and what follows it. Nothing of a signature is 128 bytes long, so the length
/// is one byte.
fn value(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    if *found != tag || *length > 0x7f {
        return None;
    }
    rest.split_at_checked(usize::from(*length))
}

/// The digits of a DER integer in its shortest form that is not negative.
fn unsigned(integer: &[u8]) -> Option<&[u8]> {
    match integer {
        [0, rest @ ..] if matches!(rest, [0x80..=0xff, ..]) => Some(rest),
        [0] | [1..=0x7f, ..] => Some(integer),
        _ => None,
    }
}

/// Writes the digits at the end of the place.
fn place(digits: &[u8], place: &mut [u8]) -> Option<()> {
    let start = place.len().checked_sub(digits.len())?;
    place.get_mut(start..)?.copy_from_slice(digits);
    Some(())
}
