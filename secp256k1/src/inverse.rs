//! Inverses modulo an odd number by division steps, after Bernstein and Yang, "Fast constant-time gcd computation and modular
//! inversion" (2019), in variable time: thirty steps on the lowest bits of a pair (f, g) at once make a matrix, which is then
//! applied to the whole numbers.
//!
//! Throughout, `d · x ≡ f` and `e · x ≡ g` modulo the modulus, up to the powers of two that every matrix divides out. It begins with
//! f = modulus, g = x; when g is 0, f is the greatest common divisor, up to its sign, and d the inverse, up to the same sign.

use crate::limbs::Limbs;

/// Bits that one matrix stands for, and bits of a limb here.
const STEP: u32 = 30;
const MASK: i64 = (1 << STEP) - 1;

/// A number as nine limbs of 30 bits, the last one with the sign.
type Number = [i32; 9];

/// What the inverse is taken by.
pub struct Modulus {
    number: Number,
    /// The inverse of the modulus modulo 2^30.
    inverse: i64,
}

impl Modulus {
    /// The modulus whose limbs these are; it must be odd.
    pub const fn new(limbs: &Limbs) -> Modulus {
        let number = from_limbs(limbs);
        let [low, ..] = number;
        // Correct modulo 8, then modulo 2^6, 2^12, 2^24, 2^48.
        let low = low as i64;
        let mut inverse = low;
        let mut rounds = 0;
        while rounds < 4 {
            inverse = inverse.wrapping_mul(2 - low.wrapping_mul(inverse) % (1 << STEP)) & MASK;
            rounds += 1;
        }
        Modulus { number, inverse }
    }

    /// The number whose product with `x` leaves 1, when there is one: `x` is not 0 and below the modulus, its carries done.
    pub fn inverse(&self, x: &Limbs) -> Option<Limbs> {
        let (mut f, mut g) = (self.number, from_limbs(x));
        let (mut d, mut e) = ([0; 9], [1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let mut eta = -1;
        while g != [0; 9] {
            let matrix = steps(&mut eta, &f, &g);
            self.apply_modulo(&matrix, &mut d, &mut e);
            apply(&matrix, &mut f, &mut g);
        }
        let negative = f.iter().all(|limb| *limb == MASK as i32 || *limb == -1);
        let coprime = negative || f == [1, 0, 0, 0, 0, 0, 0, 0, 0];
        coprime.then(|| to_limbs(&self.normal(&d, negative)))
    }

    /// `(d, e) ← matrix · (d, e) / 2^30`, modulo the modulus, which is added as often as makes the division exact. Both are and stay
    /// above -2 moduli and below 1: every row of a matrix has absolute values that add up to at most 2^30.
    fn apply_modulo(&self, matrix: &Matrix, d: &mut Number, e: &mut Number) {
        let Matrix { u, v, q, r } = *matrix;
        let below = |number: &Number| number.last().map_or(0, |last| i64::from(*last >> 31));
        let (d_below, e_below) = (below(d), below(e));
        let mut d_times = (u & d_below) + (v & e_below);
        let mut e_times = (q & d_below) + (r & e_below);
        let ([d0, ..], [e0, ..]) = (*d, *e);
        let (d0, e0) = (i64::from(d0), i64::from(e0));
        d_times -= (((u * d0 + v * e0) & MASK) * self.inverse + d_times) & MASK;
        e_times -= (((q * d0 + r * e0) & MASK) * self.inverse + e_times) & MASK;
        let (mut d_sum, mut e_sum) = (0, 0);
        let (mut d_out, mut e_out) = ([0; 10], [0; 10]);
        let rows = d.iter().zip(e.iter()).zip(&self.number);
        for (((d, e), m), places) in rows.zip(d_out.iter_mut().zip(&mut e_out)) {
            let (d, e, m) = (i64::from(*d), i64::from(*e), i64::from(*m));
            d_sum += u * d + v * e + m * d_times;
            e_sum += q * d + r * e + m * e_times;
            (*places.0, *places.1) = ((d_sum & MASK) as i32, (e_sum & MASK) as i32);
            d_sum >>= STEP;
            e_sum >>= STEP;
        }
        *d = shifted(d_out, d_sum);
        *e = shifted(e_out, e_sum);
    }

    /// `±d` in the range from 0 to below the modulus, from above -2 moduli and below 1.
    fn normal(&self, d: &Number, negative: bool) -> Number {
        let mut sum = *d;
        let add_modulus = |sum: &mut Number| {
            if sum.last().is_some_and(|last| *last < 0) {
                for (limb, m) in sum.iter_mut().zip(&self.number) {
                    *limb += m;
                }
                carry(sum);
            }
        };
        add_modulus(&mut sum);
        if negative {
            sum.iter_mut().for_each(|limb| *limb = -*limb);
            carry(&mut sum);
        }
        add_modulus(&mut sum);
        sum
    }
}

/// Thirty division steps: `(f, g) ← (u f + v g, q f + r g) / 2^30`.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// The matrix of the next thirty steps, which depend on the lowest thirty bits only. `eta` is minus the delta of the paper.
fn steps(eta: &mut i32, f: &Number, g: &Number) -> Matrix {
    // Two limbs' worth are not needed: 30 bits decide 30 steps.
    let ([f, ..], [g, ..]) = (*f, *g);
    let (mut f, mut g) = (f as u32, g as u32);
    let (mut u, mut v, mut q, mut r) = (1_u32, 0_u32, 0_u32, 1_u32);
    let mut left = STEP;
    loop {
        // As long as g is even, a step halves it.
        let zeros = (g | u32::MAX << left).trailing_zeros();
        g >>= zeros;
        u <<= zeros;
        v <<= zeros;
        *eta -= zeros as i32;
        left -= zeros;
        if left == 0 {
            break;
        }
        if *eta < 0 {
            *eta = -*eta;
            (f, g) = (g, f.wrapping_neg());
            (u, q) = (q, u.wrapping_neg());
            (v, r) = (r, v.wrapping_neg());
        }
        // The next eta + 1 steps only add f to g or not. f (f² - 2) is minus the inverse of f modulo 64, so this multiple
        // of f clears up to six bits of g at once.
        let bits = left.min(*eta as u32 + 1).min(6);
        let cancel = f.wrapping_mul(f).wrapping_sub(2).wrapping_mul(f).wrapping_mul(g);
        let times = cancel & ((1 << bits) - 1);
        g = g.wrapping_add(f.wrapping_mul(times));
        q = q.wrapping_add(u.wrapping_mul(times));
        r = r.wrapping_add(v.wrapping_mul(times));
    }
    let signed = |entry: u32| i64::from(entry as i32);
    Matrix {
        u: signed(u),
        v: signed(v),
        q: signed(q),
        r: signed(r),
    }
}

/// `(f, g) ← matrix · (f, g) / 2^30`, where the division is exact.
fn apply(matrix: &Matrix, f: &mut Number, g: &mut Number) {
    let Matrix { u, v, q, r } = *matrix;
    let (mut f_sum, mut g_sum) = (0, 0);
    let (mut f_out, mut g_out) = ([0; 10], [0; 10]);
    for ((f, g), places) in f.iter().zip(g.iter()).zip(f_out.iter_mut().zip(&mut g_out)) {
        let (f, g) = (i64::from(*f), i64::from(*g));
        f_sum += u * f + v * g;
        g_sum += q * f + r * g;
        (*places.0, *places.1) = ((f_sum & MASK) as i32, (g_sum & MASK) as i32);
        f_sum >>= STEP;
        g_sum >>= STEP;
    }
    *f = shifted(f_out, f_sum);
    *g = shifted(g_out, g_sum);
}

/// Drops the lowest limb, which is 0, and puts the last carry on top.
fn shifted(limbs: [i32; 10], top: i64) -> Number {
    let [low, l1, l2, l3, l4, l5, l6, l7, l8, _] = limbs;
    debug_assert!(low == 0, "the division by 2^30 is not exact");
    debug_assert!(i64::from(top as i32) == top);
    [l1, l2, l3, l4, l5, l6, l7, l8, top as i32]
}

/// Brings every limb but the last below 2^30.
fn carry(number: &mut Number) {
    let mut over = 0;
    let (last, lower) = match number.split_last_mut() {
        Some(parts) => parts,
        None => return,
    };
    for limb in lower {
        let sum = *limb + over;
        *limb = sum & MASK as i32;
        over = sum >> STEP;
    }
    *last += over;
}

const fn from_limbs(limbs: &Limbs) -> Number {
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = *limbs;
    let mask = MASK as i32;
    [
        (l0 | l1 << 29) & mask,
        (l1 >> 1 | l2 << 28) & mask,
        (l2 >> 2 | l3 << 27) & mask,
        (l3 >> 3 | l4 << 26) & mask,
        (l4 >> 4 | l5 << 25) & mask,
        (l5 >> 5 | l6 << 24) & mask,
        (l6 >> 6 | l7 << 23) & mask,
        (l7 >> 7 | l8 << 22) & mask,
        l8 >> 8,
    ]
}

fn to_limbs(number: &Number) -> Limbs {
    let [n0, n1, n2, n3, n4, n5, n6, n7, n8] = *number;
    let mask = crate::limbs::MASK as i32;
    [
        n0 & mask,
        (n0 >> 29 | n1 << 1) & mask,
        (n1 >> 28 | n2 << 2) & mask,
        (n2 >> 27 | n3 << 3) & mask,
        (n3 >> 26 | n4 << 4) & mask,
        (n4 >> 25 | n5 << 5) & mask,
        (n5 >> 24 | n6 << 6) & mask,
        (n6 >> 23 | n7 << 7) & mask,
        n7 >> 22 | n8 << 8,
    ]
}
