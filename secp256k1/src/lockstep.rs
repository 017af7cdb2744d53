//! Many sums of points in step: as all coordinates stay plain, a sum takes five products and a square, and the division that each
//! needs is shared by all (Montgomery's trick).

use crate::comb::Addend;
use crate::field::{Element, Loose};
use crate::point::Affine;

/// One running sum a lane.
pub struct Lanes {
    sums: Vec<Affine>,
    /// Whether a lane met an addend with the same x, so that its sum means nothing from there on.
    exceptional: Vec<bool>,
    differences: Vec<Loose<1>>,
    /// The product of the differences of all lanes before.
    before: Vec<Element>,
}

impl Lanes {
    /// Lanes that begin with these points.
    pub fn new(sums: Vec<Affine>) -> Lanes {
        let count = sums.len();
        Lanes {
            sums,
            exceptional: vec![false; count],
            differences: Vec::with_capacity(count),
            before: Vec::with_capacity(count),
        }
    }

    /// Adds one point to each lane. Where the two have the same x, this is a doubling or gives infinity, for which the formula has no
    /// answer: the difference is 0, and with it the product of all, which is looked at in every step. Such a lane is set aside, and the
    /// others go on.
    pub fn add(&mut self, addends: &[Addend]) {
        let mut product = self.multiply_differences(addends);
        if product.is_zero() {
            for (difference, exceptional) in self.differences.iter_mut().zip(&mut self.exceptional) {
                if difference.tight().is_zero() {
                    *difference = *Element::ONE;
                    *exceptional = true;
                }
            }
            product = Element::ONE;
            for (difference, before) in self.differences.iter().zip(&mut self.before) {
                *before = product;
                product = product.times(difference);
            }
        }
        // Not 0: a product of numbers that are not 0 modulo a prime.
        let mut inverse = product.inverse().unwrap_or(Element::ZERO);
        let lanes = self.sums.iter_mut().zip(addends);
        let lanes = lanes.zip(self.differences.iter().zip(&self.before));
        for ((sum, addend), (difference, before)) in lanes.rev() {
            let own = inverse.times(before);
            inverse = inverse.times(difference);
            let rise: Loose<2> = addend.point.y.turned(addend.negative).less(&sum.y);
            let slope = own.times(&rise);
            let x = slope.squared_less(&sum.x.plus(&addend.point.x));
            sum.y = slope.times_less(&sum.x.minus(&x), &sum.y);
            sum.x = x;
        }
    }

    /// The differences of the first coordinates, and their product.
    fn multiply_differences(&mut self, addends: &[Addend]) -> Element {
        self.differences.clear();
        self.before.clear();
        let mut product = Element::ONE;
        for (sum, addend) in self.sums.iter().zip(addends) {
            let difference = addend.point.x.minus(&sum.x);
            self.before.push(product);
            product = product.times(&difference);
            self.differences.push(difference);
        }
        product
    }

    /// The sums; `None` for a lane that met an exceptional one.
    pub fn into_sums(self) -> Vec<Option<Affine>> {
        let both = self.sums.into_iter().zip(self.exceptional);
        both.map(|(sum, exceptional)| (!exceptional).then_some(sum))
            .collect()
    }
}
