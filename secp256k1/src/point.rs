//! Points of y² = x³ + 7 and how they are added, whatever they are, in variable time.

use crate::field::{Element, Loose};

/// A point that is not infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The first coordinate.
    pub x: Element,
    /// The second coordinate.
    pub y: Element,
}

/// The point (x / z², y / z³), or infinity, when z is 0.
#[derive(Clone, Copy, Debug)]
pub struct Jacobian {
    x: Element,
    y: Element,
    z: Element,
}

/// The generator of the group.
pub const GENERATOR: Affine = Affine {
    x: Element::constant(&[
        0x79, 0xbe, 0x66, 0x7e, 0xf9, 0xdc, 0xbb, 0xac, 0x55, 0xa0, 0x62, 0x95, 0xce, 0x87, 0x0b, 0x07, 0x02,
        0x9b, 0xfc, 0xdb, 0x2d, 0xce, 0x28, 0xd9, 0x59, 0xf2, 0x81, 0x5b, 0x16, 0xf8, 0x17, 0x98,
    ]),
    y: Element::constant(&[
        0x48, 0x3a, 0xda, 0x77, 0x26, 0xa3, 0xc4, 0x65, 0x5d, 0xa4, 0xfb, 0xfc, 0x0e, 0x11, 0x08, 0xa8, 0xfd,
        0x17, 0xb4, 0x48, 0xa6, 0x85, 0x54, 0x19, 0x9c, 0x47, 0xd0, 0x8f, 0xfb, 0x10, 0xd4, 0xb8,
    ]),
};

/// p - 7.
const MINUS_SEVEN: Element = Element::constant(&[
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xfc, 0x28,
]);

/// x³ + 7.
fn right_side(x: &Element) -> Element {
    x.squared().times_less(x, &MINUS_SEVEN)
}

impl Affine {
    /// The point with this x whose y is odd or even, when there is one.
    pub fn from_x(x: Element, odd: bool) -> Option<Affine> {
        let y = right_side(&x).square_root()?;
        let y = if y.is_odd() == odd { y } else { y.negated().tight() };
        Some(Affine { x, y })
    }

    /// The point of a public key: 33 bytes that begin with 2 or 3, or 65 that begin with 4 (SEC 1, 2.3.4). No other form, and no point
    /// that isn't on the curve.
    pub fn from_sec1(bytes: &[u8]) -> Option<Affine> {
        let (tag, rest) = bytes.split_first()?;
        let (x, y) = rest.split_first_chunk::<32>()?;
        let x = Element::from_be_bytes(x)?;
        match (tag, y) {
            (2 | 3, []) => Affine::from_x(x, *tag == 3),
            (4, y) => {
                let y = Element::from_be_bytes(y.try_into().ok()?)?;
                (y.squared() == right_side(&x)).then_some(Affine { x, y })
            }
            _ => None,
        }
    }

    /// x and y, 32 big-endian bytes each.
    pub fn to_be_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let (x, y) = bytes.split_at_mut(32);
        x.copy_from_slice(&self.x.to_be_bytes());
        y.copy_from_slice(&self.y.to_be_bytes());
        bytes
    }

    /// The same point, its coordinates from 0 to below p.
    pub fn settled(&self) -> Affine {
        Affine {
            x: self.x.settled(),
            y: self.y.settled(),
        }
    }

    /// The point of the other sign.
    pub fn negated(&self) -> Affine {
        Affine {
            x: self.x,
            y: self.y.negated().tight(),
        }
    }
}

impl From<Affine> for Jacobian {
    fn from(point: Affine) -> Jacobian {
        Jacobian {
            x: point.x,
            y: point.y,
            z: Element::ONE,
        }
    }
}

impl Jacobian {
    /// The point that changes nothing when added.
    pub const INFINITY: Jacobian = Jacobian {
        x: Element::ONE,
        y: Element::ONE,
        z: Element::ZERO,
    };

    /// Whether this is infinity.
    pub fn is_infinity(&self) -> bool {
        self.z.is_zero()
    }

    /// Twice the point. Infinity stays what it is: its z is a factor of the new one. No other point becomes infinity, as no point
    /// has y = 0: the order of the group is odd.
    pub fn doubled(&self) -> Jacobian {
        // With b = 2 y²: l = 3 x², t = 4 x y², and 8 y⁴ = 2 b².
        let l = self.x.squared_thrice();
        let b = self.y.squared_twice();
        let t = self.x.times_twice(&b);
        let x = l.squared_less(&t.plus(&t));
        Jacobian {
            x,
            y: l.times_less_squared_twice(&t.minus(&x), &b),
            z: self.y.times_twice(&self.z),
        }
    }

    /// The sum with the point (x, y), also when that is the same point, its negative, or when this one is infinity.
    pub fn plus(&self, x: &Element, y: &Loose<1>) -> Jacobian {
        if self.is_infinity() {
            return Jacobian {
                x: *x,
                y: y.tight(),
                z: Element::ONE,
            };
        }
        let zz = self.z.squared();
        let h = x.times_less(&zz, &self.x);
        let r = y.times_less(&zz.times(&self.z), &self.y);
        if h.is_zero() && r.is_zero() {
            return self.doubled();
        }
        // When only h is 0, the points are opposite, and the new z is 0 as it must be.
        let hh = h.squared();
        let hhh = hh.times(&h);
        let v = self.x.times(&hh);
        let x = r.squared_less(&hhh.plus_twice(&v));
        Jacobian {
            x,
            y: r.times_less_product(&v.minus(&x), &self.y, &hhh),
            z: self.z.times(&h),
        }
    }

    /// Whether this is a point whose first coordinate is `x`.
    pub fn has_x(&self, x: &Element) -> bool {
        !self.is_infinity() && x.times_less(&self.z.squared(), &self.x).is_zero()
    }

    /// The coordinates, unless this is infinity.
    pub fn to_affine(&self) -> Option<Affine> {
        Some(self.divided(&self.z.inverse()?))
    }

    /// The coordinates of all, with one inversion. `None` when one of them is infinity.
    pub fn all_to_affine(points: &[Jacobian]) -> Option<Vec<Affine>> {
        let mut inverses: Vec<Element> = points.iter().map(|point| point.z).collect();
        Element::invert_all(&mut inverses)?;
        let both = points.iter().zip(&inverses);
        Some(both.map(|(point, inverse)| point.divided(inverse)).collect())
    }

    /// The coordinates, given the inverse of z.
    fn divided(&self, inverse: &Element) -> Affine {
        let square = inverse.squared();
        Affine {
            x: self.x.times(&square),
            y: self.y.times(&square.times(inverse)),
        }
    }

    /// This point of an isomorphic curve on the one where z is `factor` times as large.
    pub(crate) fn scaled(&self, factor: &Element) -> Jacobian {
        Jacobian {
            z: self.z.times(factor),
            ..*self
        }
    }

    /// x, y and z as they are.
    pub(crate) fn parts(&self) -> (&Element, &Element, &Element) {
        (&self.x, &self.y, &self.z)
    }
}
